// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim
import Foundation
import NamespaceTraits
import NetlinkReachability
import RoutingModel
import SystemSupport
import TestSupport
import Testing

@testable import NetlinkRecording

/// Who a port stands for, held against processes whose sockets are known.
@Suite(
    .needsNetwork,
    .serialized
)
struct RequesterTests {
    private typealias Requester = Recording.Event.Requester

    /// A process that makes changes and lives on, or a socket of this one.
    private final class Author {
        /// What kind of author it is.
        let name: String
        /// The process that asks; `nil` until it is known.
        let process: Int32
        /// The processes that have its socket open.
        let holders: [Int32]
        private let child: Process?
        private let ask: (String) throws -> Void

        init(
            _ name: String,
            process: Int32,
            holders: [Int32]? = nil,
            child: Process? = nil,
            ask: @escaping (String) throws -> Void
        ) {
            (self.name, self.process, self.child, self.ask) = (name, process, child, ask)
            self.holders = holders ?? [process]
        }

        deinit { end() }

        /// Ends the process, and waits until its socket is closed.
        func end() {
            guard let child, child.isRunning else { return }
            // unshare(1) waits for its child whatever it is sent, and that is killed with it.
            kill(child.processIdentifier, SIGKILL)
            child.waitUntilExit()
            _ = RequesterTests.poll {
                RunningProcess.socketInodes(of: process)?.isEmpty != false ? true : nil
            }
        }

        /// Adds a rule with a priority.
        func addRule(_ priority: UInt32) throws {
            try ask("rule add from 10.0.0.0/8 table 7 pref \(priority)")
        }
    }

    /// Whether this process has started a process, or the process has ended.
    private static func isOwnChild(_ process: Int32) -> Bool {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else {
            return true
        }
        // The name in parentheses can have spaces; the state and the parent follow.
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        return fields.count > 1 && Int32(fields[1]) == getpid()
    }

    // MARK: Authors

    private static func start(_ command: String, output: FileHandle? = nil) throws -> (Process, FileHandle) {
        let (process, input) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", command]
        process.standardInput = input
        if let output { process.standardOutput = output }
        try process.run()
        return (process, input.fileHandleForWriting)
    }

    /// `ip` that reads commands, alone or in a PID namespace of its own, where its number is 1 or 2.
    private static func batch(inNamespace isInNamespace: Bool) throws -> Author {
        let command = "exec \(isInNamespace ? "unshare --pid --fork --kill-child " : "")ip -batch -"
        let (child, input) = try start(command)
        var process = child.processIdentifier
        if isInNamespace {
            let parent = process
            process = try #require(
                poll {
                    let children = ShellCommand.run("cat /proc/\(parent)/task/\(parent)/children").output
                    return children.split(separator: " ").first.flatMap { Int32($0) }
                })
        }
        _ = poll { RunningProcess(reading: process)?.name == "ip" ? true : nil }
        return Author(isInNamespace ? "ip in a PID namespace" : "ip", process: process, child: child) {
            try input.write(contentsOf: Data(($0 + "\n").utf8))
        }
    }

    private static func poll<Value>(_ find: () -> Value?) -> Value? {
        for _ in 0..<10_000 {
            if let found = find() { return found }
            usleep(1_000)
        }
        return nil
    }

    /// A socket with the first of these ports that is free, or with the one that the kernel chooses.
    private static func socket(ports: [UInt32] = [0]) throws -> Int32 {
        let descriptor = Glibc.socket(AF_NETLINK, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let isBound = ports.contains { port in
            var address = sockaddr_nl()
            (address.nl_family, address.nl_pid) = (UInt16(AF_NETLINK), port)
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_nl>.size)) == 0
                }
            }
        }
        try #require(descriptor >= 0 && isBound)
        return descriptor
    }

    /// RTM_NEWRULE as `addRule` asks for it.
    private static func rule(_ priority: UInt32) -> [UInt8] {
        func bytes(_ value: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: value, Array.init) }
        let body: [UInt8] = [2, 0, 8, 0, 7, 0, 0, 1, 0, 0, 0, 0] + [8, 0, 2, 0, 10, 0, 0, 0]
        let attribute = [8, 0] + bytes(UInt16(FRA_PRIORITY)) + bytes(priority)
        let length = 16 + body.count + attribute.count
        return bytes(UInt32(length)) + bytes(UInt16(RTM_NEWRULE))
            + bytes(UInt16(NLM_F_REQUEST | NLM_F_CREATE))
            + [0, 0, 0, 0, 0, 0, 0, 0] + body + attribute
    }

    private static func priority(_ command: String) -> UInt32 {
        command.split(separator: " ").last.flatMap { UInt32($0) } ?? 0
    }

    /// A socket of this process: the first or a further one, or one with a port as libnl chooses it.
    private static func ownSocket(_ name: String, ports: [UInt32] = [0]) throws -> Author {
        let handle = FileHandle(fileDescriptor: try socket(ports: ports), closeOnDealloc: true)
        return Author(name, process: getpid()) { try handle.write(contentsOf: Data(rule(priority($0)))) }
    }

    /// A shell that writes requests to a socket that this process has opened, and still has or not.
    private static func heir(keepsSocket: Bool) throws -> Author {
        let handle = FileHandle(fileDescriptor: try socket(), closeOnDealloc: true)
        let (child, input) = try start(#"while read line; do printf "$line"; done"#, output: handle)
        let process = child.processIdentifier
        // The shell of a pipe can still be this process's copy.
        _ = poll { RunningProcess(reading: process)?.name == "sh" ? true : nil }
        if !keepsSocket { try handle.close() }
        return Author(
            keepsSocket ? "a socket that is shared" : "a socket that is handed over", process: process,
            holders: keepsSocket ? [getpid(), process] : [process], child: child
        ) { command in
            withExtendedLifetime(handle) {
                // Octal numbers for printf, whose backslashes are for read.
                let text = rule(priority(command)).map { #"\\"# + $0.padded(3, radix: 8) }.joined()
                try? input.write(contentsOf: Data((text + "\n").utf8))
            }
        }
    }

    private static func authors() throws -> [Author] {
        // libnl chooses among 1,024 ports at random: the recorder's own sockets can have some of them.
        let ports = (300..<400 as Range<UInt32>).map { UInt32(getpid()) | $0 << 22 }
        return try [
            batch(inNamespace: false), batch(inNamespace: false), batch(inNamespace: true),
            batch(inNamespace: true), ownSocket("a socket"), ownSocket("a further socket"),
            ownSocket("a port as of libnl", ports: ports), heir(keepsSocket: true),
            heir(keepsSocket: false),
        ]
    }

    // MARK: The oracle

    /// The owner of a port, without a limit.
    private static func find(
        _ port: Recording.Event.NetlinkPort,
        _ visibility: ProcessVisibility,
        among processes: [Int32]? = nil
    ) -> Requester? {
        var meter = LookupMeter(.seconds(60))
        return PortLookup.find([port], visibility, among: processes, metered: &meter)[0].requester
    }

    /// The ports of the changes that a request led to.
    private static func ports(_ recorder: inout Recorder, after ask: () throws -> Void) throws -> Set<UInt32>
    {
        while try recorder.readEvents() != .empty {}
        try ask()
        var ports: Set<UInt32> = []
        _ = poll { () -> Bool? in
            _ = try? recorder.readEvents { ports.insert($0.port) }
            return ports.isEmpty ? nil : true
        }
        return ports
    }

    @Test func `who had the socket asked, and no other process is stated as exact`() throws {
        // The first process can be hidden also from root: its sockets are left out.
        let readable = { RunningProcess.all().filter { RunningProcess.socketInodes(of: $0) != nil } }
        try LiveNetwork().run {
            var recorder = try Recorder()
            let authors = try Self.authors()
            var generator = SeededGenerator(seed: 4_302)
            var (wrong, exact) = ([String](), 0)
            for round in 0..<Rounds.of(2_000) {
                let author = try #require(authors.randomElement(using: &generator))
                let ports = try Self.ports(&recorder) { try author.addRule(UInt32(100 + round)) }
                let port = try #require(ports.count == 1 ? ports.first : nil, "\(author.name): \(ports)")
                let netlinkPort = Recording.Event.NetlinkPort(port)
                do {
                    let found = Self.find(netlinkPort, .sockets, among: readable())
                    let names = found?.processes.map(\.identifier) ?? []
                    let isExact =
                        found?.certainty == (author.holders.count == 1 ? .holder : .holders)
                        && names.sorted() == author.holders.sorted()
                    if isExact { exact += 1 }
                    // What another test starts has the sockets of this process until it runs its program, and can have
                    // ended since.
                    let isShared =
                        found?.certainty == .holders && author.holders.contains(getpid())
                        && author.holders.allSatisfy(names.contains)
                        && names.filter { !author.holders.contains($0) }.allSatisfy(Self.isOwnChild(_:))
                    // A process that begins meanwhile can be one whose sockets are not shown.
                    let isRight =
                        isExact || isShared
                        || found?.certainty == .candidates && names.contains(where: author.holders.contains)
                    if !isRight {
                        wrong.append("\(author.name) \(author.holders): \(netlinkPort), \(found as Any)")
                    }
                }
                let guessed = Self.find(netlinkPort, .names)
                let isHonest =
                    switch guessed?.certainty {
                    case nil: true
                    case .candidates:
                        guessed?.processes.contains { author.holders.contains($0.identifier) } == true
                    case .holder, .holders, .gone: false
                    }
                if !isHonest {
                    wrong.append("\(author.name) \(author.process): \(netlinkPort), \(guessed as Any)")
                }
            }
            #expect(wrong.isEmpty, "\(wrong.count): \(wrong.prefix(5))")
            #expect(exact * 2 > Rounds.of(2_000))
        }
    }

    @Test func `a process that has ended is gone, and never another one`() throws {
        try LiveNetwork().run {
            var recorder = try Recorder()
            for round in 0..<Rounds.of(200) {
                let ports = try Self.ports(&recorder) {
                    let (status, output) = ShellCommand.run(
                        "ip rule add from 10.0.0.0/8 table 7 pref \(100 + round)")
                    try #require(status == 0, "\(output)")
                }
                let port = try #require(ports.first)
                for visibility in [ProcessVisibility.sockets, .names] {
                    let found = Self.find(Recording.Event.NetlinkPort(port), visibility)
                    #expect(
                        found == Requester(certainty: .gone, processes: []), "round \(round): \(found as Any)"
                    )
                }
            }
        }
    }

    /// Its process lives on, and was said to have ended.
    @Test func `a further socket that was closed says nothing`() throws {
        try LiveNetwork().run {
            var recorder = try Recorder()
            // The first socket of a process has its number.
            let first = try Self.socket()
            defer { close(first) }
            for priority in 100..<110 as Range<UInt32> {
                let ports = try Self.ports(&recorder) {
                    let author = try Self.ownSocket("a further socket")
                    try author.addRule(priority)
                }
                let port = Recording.Event.NetlinkPort(try #require(ports.first))
                #expect(port.processIdentifier == nil)
                for visibility in [ProcessVisibility.sockets, .names] {
                    #expect(Self.find(port, visibility) == nil)
                }
            }
        }
    }

    @Test func `a process of another network namespace with the same number is no candidate`() throws {
        // The recorder's namespace has no process but the ones that are started in it.
        try LiveNetwork().run {
            let port = Recording.Event.NetlinkPort(UInt32(getpid()))
            let found = Self.find(port, .names)
            #expect(found == nil || found?.certainty == .gone, "\(found as Any)")
        }
    }

    /// systemd binds the socket of systemd-networkd, which has its port then.
    ///
    /// Where the sockets of processes are not shown, the manager alone was named.
    @Test func `systemd-networkd is a candidate for the port of the manager of services`() throws {
        try LiveNetwork().run {
            let socket = try Self.socket(ports: [1])
            defer { close(socket) }
            let (child, input) = try Self.start("printf systemd-networkd > /proc/$$/comm; read line")
            defer {
                try? input.close()
                child.waitUntilExit()
            }
            let process = child.processIdentifier
            _ = Self.poll { RunningProcess(reading: process)?.name == "systemd-network" ? true : nil }
            let found = Self.find(Recording.Event.NetlinkPort(1), .names, among: [process])
            #expect(found?.certainty == .candidates && found?.processes.map(\.identifier) == [process])
            let other = Self.find(Recording.Event.NetlinkPort(2), .names, among: [process])
            #expect(other?.processes.isEmpty != false)
        }
    }

    // MARK: Bounds

    /// Each step takes a millisecond of a driven clock.
    @Test func `a lookup that reaches its limit says candidates or nothing`() throws {
        let readable = RunningProcess.all().filter { RunningProcess.socketInodes(of: $0) != nil }
        try LiveNetwork().run {
            var recorder = try Recorder()
            let author = try Self.batch(inNamespace: false)
            let ports = try Self.ports(&recorder) { try author.addRule(100) }
            let port = Recording.Event.NetlinkPort(try #require(ports.first))
            var certainties: Set<Requester.Certainty?> = []
            for limit in 0..<200 {
                let time = Locked(Duration.zero)
                var meter = LookupMeter(.milliseconds(limit)) {
                    time.withLock { time in
                        time += .milliseconds(1)
                        return time
                    }
                }
                let found = PortLookup.find(
                    [port], .sockets, among: [author.process] + readable, metered: &meter)[0].requester
                certainties.insert(found?.certainty)
                #expect(found?.processes.contains { $0.identifier == author.process } != false, "\(limit)")
                if found?.certainty == .candidates { #expect(found?.isCut == true) }
                if found?.certainty == .holder { #expect(limit > 2 * readable.count) }
            }
            #expect(certainties.contains(nil) && certainties.contains(.candidates))
            #expect(certainties.isDisjoint(with: [.gone, .holders]))
        }
    }

    @Test func `changes are read and stamped while a lookup goes on`() throws {
        try LiveNetwork().run {
            var recorder = try Recorder()
            let (first, second) = try (Self.ownSocket("a socket"), Self.ownSocket("a further socket"))
            let (lookups, ended) = (Locked(0), Locked(Recording.Time?.none))
            recorder.ports = PortLookup { ports, _, attend in
                lookups.withLock { $0 += 1 }
                if lookups.withLock({ $0 }) == 1 {
                    try? second.addRule(101)
                    #expect(attend())
                    usleep(1_000)
                    ended.withLock { $0 = ClockReading.now.time }
                }
                return ports.map { port in
                    let process = Requester.Process(identifier: 7, name: "\(port.number)", unit: nil)
                    return PortLookup.Finding(requester: Requester(certainty: .holder, processes: [process]))
                }
            }
            _ = try Self.ports(&recorder) { try first.addRule(100) }
            let end = try #require(ended.withLock { $0 })
            var stream = RecordingStream(bytes: recorder.drainPending())
            var (stated, stamps) = (Set<UInt32>(), 0)
            while stream.next({ (entry: RecordingEntry) -> Bool in
                switch entry.content {
                case .annotation(.requester(let port, let requester)):
                    if requester?.processes.first?.name == "\(port)" { stated.insert(port) }
                case .message(let message):
                    // Those that the kernel makes with them have no port.
                    guard message.port != 0 else { break }
                    #expect(stated.contains(message.port))
                    #expect(entry.time.map { $0 < end } == true)
                    stamps += 1
                default: break
                }
                return true
            }) != nil {}
            #expect(stamps == 2 && lookups.withLock { $0 } == 2)
        }
    }

    // MARK: Who

    /// A process in Python whose socket is opened by a thread with descriptors of its own.
    private static func threadedAuthor(_ name: String, first: String) throws -> Author {
        let program = """
            import ctypes, os, socket, sys, threading
            libc = ctypes.CDLL(None, use_errno=True)
            def work():
                if libc.unshare(0x400) != 0: os._exit(1)
                link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
                link.bind((0, 0))
                for line in sys.stdin:
                    link.send(bytes.fromhex(line))
                os._exit(0)
            threading.Thread(target=work).start()
            \(first)
            """
        let quoted = program.replacingOccurrences(of: "'", with: "'\\''")
        let (child, input) = try start("exec python3 -c '\(quoted)'")
        let process = child.processIdentifier
        return Author(name, process: process, child: child) { command in
            let text = rule(priority(command)).map { $0.padded(2, radix: 16) }.joined()
            try input.write(contentsOf: Data((text + "\n").utf8))
        }
    }

    @Test(
        .enabled(if: ShellCommand.run("python3 -c ''").status == 0, "needs python3"),
        arguments: [
            ("a thread with descriptors of its own", "pass"),
            (
                "a thread whose leader has ended",
                "libc.syscall(93 if os.uname().machine == \"aarch64\" else 60, 0)"
            ),
            ("a process without a name", #"libc.prctl(15, b"")"#),
        ])
    func `the holder is found among all threads, with a name or without`(name: String, first: String) throws {
        let readable = { RunningProcess.all().filter { RunningProcess.socketInodes(of: $0) != nil } }
        try LiveNetwork().run {
            var recorder = try Recorder()
            let author = try Self.threadedAuthor(name, first: first)
            let ports = try Self.ports(&recorder) { try author.addRule(100) }
            let found = Self.find(
                Recording.Event.NetlinkPort(try #require(ports.first)), .sockets, among: readable())
            #expect(found?.certainty == .holder && found?.processes.map(\.identifier) == [author.process])
            if first.contains("prctl") {
                #expect(found?.description.contains("process \(author.process)") == true)
            }
        }
    }

    /// It lives on, and without privilege it can be named only as a candidate.
    @Test func `a process that has closed its socket is not named for the next one with its port`() throws {
        try LiveNetwork().run {
            var recorder = try Recorder()
            var lookup = PortLookup { PortLookup.find($0, .names, metered: &$1, attending: $2) }
            let now = ContinuousClock.now
            func state(_ author: Author, _ priority: UInt32) throws -> [Int32]? {
                #expect(try Self.ports(&recorder) { try author.addRule(priority) } == [1])
                var limit = Duration.seconds(60)
                for case .requester(1, let requester) in lookup.statements(
                    about: [1], within: &limit, now: now)
                {
                    return requester?.processes.map(\.identifier)
                }
                return nil
            }
            do {
                let own = try Self.ownSocket("a socket that is closed", ports: [1])
                #expect(try state(own, 100)?.contains(getpid()) == true)
            }
            let next = try Self.batch(inNamespace: true)
            let found = try #require(try state(next, 101))
            #expect(found.contains(next.process) && !found.contains(getpid()))
        }
    }

    /// The kernel gives the next process of a PID namespace the number behind the last one.
    @Test func `processes of containers with the same number push no candidate out`() throws {
        try LiveNetwork().run {
            let author = try Self.batch(inNamespace: false)
            let number = author.process
            let fakes = try (0..<9).map { _ in
                try Self.start(
                    """
                    exec unshare --pid --fork --kill-child --mount-proc sh -c '
                    echo \(number - 1) > /proc/sys/kernel/ns_last_pid; sleep 1000 & wait'
                    """
                ).0
            }
            defer {
                for fake in fakes {
                    kill(fake.processIdentifier, SIGKILL)
                    fake.waitUntilExit()
                }
            }
            func others() -> [Int32] {
                RunningProcess.all().filter {
                    $0 != number && RunningProcess.innermostIdentifier(of: $0)?.number == number
                }
            }
            _ = Self.poll { others().count == 9 ? true : nil }
            // The fakes come first, as where numbers have begun again.
            let port = Recording.Event.NetlinkPort(UInt32(number))
            let found = Self.find(port, .names, among: others() + [number])
            #expect(found?.processes.first?.identifier == number, "\(found as Any)")
            #expect(found?.processes.count == 8 && found?.isCut == true)
        }
    }

    @Test func `of two containers in a second, the one that has ended did not ask`() throws {
        let readable = { RunningProcess.all().filter { RunningProcess.socketInodes(of: $0) != nil } }
        try LiveNetwork().run {
            var recorder = try Recorder()
            var lookup = PortLookup {
                PortLookup.find($0, .sockets, among: readable(), metered: &$1, attending: $2)
            }
            let now = ContinuousClock.now
            var stated: [[Int32]] = []
            var processes: [[Int32]] = []
            for round in 0..<2 as Range<UInt32> {
                // The author ends at the end of each round.
                var author = try Self.batch(inNamespace: true)
                var ports = try Self.ports(&recorder) { try author.addRule(100 + round) }
                // The port of an author that has ended is free a moment later.
                for attempt in 1..<20 as Range<UInt32> where ports != [1] {
                    author.end()
                    author = try Self.batch(inNamespace: true)
                    ports = try Self.ports(&recorder) { try author.addRule(100 + round + 10 * attempt) }
                }
                #expect(ports == [1])
                var limit = Duration.seconds(60)
                for case .requester(1, let requester) in lookup.statements(
                    about: [1], within: &limit, now: now)
                {
                    stated.append(requester?.processes.map(\.identifier) ?? [])
                }
                processes.append([author.process])
                author.end()
            }
            #expect(stated == processes)
        }
    }

    @Test func `without a view of other processes nothing is stated`() {
        #expect(Self.find(Recording.Event.NetlinkPort(1), .own) == nil)
    }

    @Test func `the recording states a port ahead of its first change`() throws {
        try LiveNetwork().run {
            var recorder = try Recorder()
            let author = try Self.batch(inNamespace: false)
            _ = try Self.ports(&recorder) { try author.addRule(100) }
            let bytes = recorder.drainPending()
            var stream = RecordingStream(bytes: bytes)
            var (names, changes) = ([String](), 0)
            while stream.next({ (entry: RecordingEntry) -> Bool in
                switch entry.content {
                case .annotation(.requester(_, let requester)):
                    #expect(changes == 0)
                    names += (requester?.processes ?? []).map(\.name)
                case .message: changes += 1
                default: break
                }
                return true
            }) != nil {}
            #expect(names == ["ip"] && changes > 0)
        }
    }
}

/// When a port is looked up, and when the recording states it.
struct PortLookupTests {
    private typealias Requester = Recording.Event.Requester

    private let start = ContinuousClock.now
    private let answers = Locked<(answer: Requester?, holds: Bool, lookups: Int)>((nil, true, 0))
    /// The processor time.
    private let time = Locked(Duration.zero)

    private func process(_ name: String) -> Requester {
        Requester(
            certainty: .holder, processes: [Requester.Process(identifier: 7, name: name, unit: nil)])
    }

    private func lookup(taking cost: Duration = .zero) -> PortLookup {
        PortLookup(
            { [answers, time] ports, _, _ in
                time.withLock { $0 += cost }
                return answers.withLock { state in
                    state.lookups += 1
                    return ports.map { _ in
                        PortLookup.Finding(requester: state.answer) { answers.withLock { $0.holds } }
                    }
                }
            }, clock: { [time] in time.withLock { $0 } })
    }

    private func state(
        _ ports: [UInt32],
        _ lookup: inout PortLookup,
        after time: Duration = .zero
    ) -> [RecordingAnnotation] {
        var limit = Duration.seconds(60)
        return lookup.statements(about: ports, within: &limit, now: start + time)
    }

    private func answer(_ requester: Requester?) { answers.withLock { $0.answer = requester } }
    private var lookups: Int { answers.withLock { $0.lookups } }

    private func stated(_ name: String?, _ ports: UInt32...) -> [RecordingAnnotation] {
        ports.map { .requester(port: $0, name.map(process)) }
    }

    @Test func `a port is looked up and stated once, and several with one look`() {
        answer(process("dhclient"))
        var ports = lookup()
        #expect(state([7, 9], &ports) == stated("dhclient", 7, 9))
        #expect(lookups == 1)
        #expect(state([7], &ports) == [])
        #expect(state([7, 8], &ports) == stated("dhclient", 8))
        #expect(lookups == 2)
    }

    @Test func `a port that stands for another process after a while is stated again`() {
        answer(process("dhclient"))
        var ports = lookup()
        _ = state([7], &ports)
        #expect(state([7], &ports, after: .seconds(2)) == [])
        answer(process("networkd"))
        #expect(state([7], &ports, after: .milliseconds(2_500)) == [])
        #expect(state([7], &ports, after: .seconds(4)) == stated("networkd", 7))
        answer(nil)
        #expect(state([7], &ports, after: .seconds(6)) == stated(nil, 7))
        #expect(state([7], &ports, after: .seconds(8)) == [])
    }

    @Test func `after what was stated is dropped, a port is stated again without a lookup`() {
        answer(process("dhclient"))
        var ports = lookup()
        _ = state([7], &ports)
        ports.stateAgain()
        #expect(state([7], &ports) == stated("dhclient", 7))
        #expect(lookups == 1)
    }

    @Test func `lookups take a twentieth of the time, and half a second at once`() {
        answer(process("ip"))
        // They come at one instant.
        var ports = lookup(taking: .milliseconds(50))
        for port in 0..<100 as Range<UInt32> { _ = state([port], &ports) }
        #expect(lookups == 10)
        // A second later there are 50 ms more.
        for port in 200..<300 as Range<UInt32> {
            _ = state([port], &ports, after: .seconds(1))
        }
        #expect(lookups == 11)
    }

    /// The number can belong to another process at once: the first one of each container has the number 1.
    @Test func `a port that changes hands within a second is looked up again`() {
        answer(process("first"))
        var ports = lookup()
        #expect(state([1], &ports) == stated("first", 1))
        answer(process("second"))
        #expect(state([1], &ports) == [])
        answers.withLock { $0.holds = false }
        #expect(state([1], &ports) == stated("second", 1))
    }

    @Test func `the lookups between two reads have one limit`() {
        answer(process("ip"))
        var (ports, limit) = (lookup(taking: .milliseconds(100)), PortLookup.limit)
        for port in 0..<5 as Range<UInt32> { _ = ports.statements(about: [port], within: &limit, now: start) }
        #expect(lookups == 2 && limit <= .zero)
    }

    @Test func `a lookup goes on for its time, and its caller's time is not its own`() {
        var (meter, calls) = (LookupMeter(.milliseconds(10)) { [time] in time.withLock { $0 } }, 0)
        var steps = 0
        while meter.goesOn({
            calls += 1
            time.withLock { $0 += .seconds(1) }
            return true
        }) {
            steps += 1
            time.withLock { $0 += .microseconds(100) }
        }
        #expect(steps == 100 && calls == 9 && meter.used == .milliseconds(10))
        var stopped = LookupMeter(.milliseconds(10)) { [time] in time.withLock { $0 } }
        time.withLock { $0 += .milliseconds(1) }
        #expect(!stopped.goesOn { false } && !stopped.goesOn { true })
    }

    /// The port can belong to another process by then.
    @Test func `without the time for a lookup, what was stated of a port is taken back`() {
        answer(process("alpha"))
        var ports = lookup(taking: .milliseconds(600))
        #expect(state([1], &ports) == stated("alpha", 1))
        #expect(state([1], &ports, after: .seconds(1)) == stated(nil, 1))
        #expect(state([1], &ports, after: .milliseconds(1_001)) == [])
        #expect(lookups == 1)
    }

    @Test func `a storm of ports takes no more memory than a thousand of them`() {
        answer(process("ip"))
        var ports = lookup()
        for port in 0..<20_000 as Range<UInt32> {
            _ = state([port], &ports, after: .milliseconds(Int(port) * 10))
            #expect(ports.count <= 1_024)
        }
        _ = state(Array(50_000..<60_000), &ports, after: .seconds(300))
        #expect(ports.count <= 1_024)
    }

    /// Without that, nothing was stated of a port any more once a thousand programs had made changes.
    @Test func `beyond a thousand ports those of before are taken back, and none that is still to come`() {
        answer(process("ip"))
        var ports = lookup()
        var known: Set<UInt32> = []
        for port in 0..<3_000 as Range<UInt32> {
            let burst = [port, 100_000]
            for statement in state(burst, &ports, after: .seconds(Int(port))) {
                guard case .requester(let port, let requester) = statement else { continue }
                if requester == nil { known.remove(port) } else { known.insert(port) }
            }
            #expect(known.isSuperset(of: burst) && known.count <= 1_024)
        }
    }

    @Test(
        arguments: [
            (Requester.Certainty.holder, ["dhclient"], "then dhclient/100 (dhclient.service)"),
            (.holder, [""], "then process 100 (.service)"),
            (
                .holders, ["systemd-networkd", "systemd"],
                "then systemd-networkd/100 (systemd-networkd.service), whose socket systemd/1 (systemd.service) opened"
            ),
            (
                .holders, ["a", "b", "c"],
                "then one of a/100 (a.service), b/101 (b.service), c/102 (c.service)"
            ),
            (.candidates, ["a", "b"], "then perhaps a/100 (a.service) or b/101 (b.service)"),
            (
                .candidates, ["systemd"],
                "then perhaps systemd/1 (systemd.service), or a service whose socket it opened"
            ),
            (.gone, [], "whose socket was closed"),
        ] as [(Requester.Certainty, [String], String)])
    private func `words say how certain it is`(certainty: Requester.Certainty, names: [String], words: String)
    {
        let processes = names.enumerated().map { index, name in
            Requester.Process(
                identifier: name == "systemd" ? 1 : Int32(index + 100), name: name, unit: "\(name).service")
        }
        #expect(Requester(certainty: certainty, processes: processes).description == words)
    }

    @Test func `words say that a list is cut`() {
        let process = Requester.Process(identifier: 7, name: "ip", unit: nil)
        #expect(
            Requester(certainty: .candidates, processes: [process], isCut: true).description
                == "then perhaps ip/7 or another process")
    }

    /// A process gets one where another one has bound its own number.
    @Test func `a port above 2147483647 is of no process's number`() {
        let port = Recording.Event.NetlinkPort(4_294_963_199)
        #expect(
            port.processIdentifier == nil && port.description == "port 4294963199, of no process's number")
    }
}
