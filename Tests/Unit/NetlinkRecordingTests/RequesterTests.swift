// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim
import Foundation
import NamespaceTraits
import NetlinkReachabilityTestKit
import NetlinkRoute
import RoutingModel
import RoutingSimulation
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

        deinit {
            // unshare(1) waits for its child whatever it is sent.
            if let child { kill(child.processIdentifier, SIGKILL) }
            child?.waitUntilExit()
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
        _ = poll { RunningProcess(reading: process).name == "ip" ? true : nil }
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
        _ = poll { RunningProcess(reading: process).name == "sh" ? true : nil }
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
                    let found = PortLookup.find([netlinkPort], .sockets, among: readable())[0]
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
                let guessed = PortLookup.find([netlinkPort], .names)[0]
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
                    let found = PortLookup.find([Recording.Event.NetlinkPort(port)], visibility)[0]
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
                    #expect(PortLookup.find([port], visibility) == [nil])
                }
            }
        }
    }

    @Test func `a process of another network namespace with the same number is no candidate`() throws {
        // The recorder's namespace has no process but the ones that are started in it.
        try LiveNetwork().run {
            let port = Recording.Event.NetlinkPort(UInt32(getpid()))
            let found = PortLookup.find([port], .names)[0]
            #expect(found == nil || found?.certainty == .gone, "\(found as Any)")
        }
    }

    @Test func `without a view of other processes nothing is stated`() {
        #expect(PortLookup.find([Recording.Event.NetlinkPort(1)], .own) == [nil])
    }

    @Test func `the recording states a port ahead of its first change`() throws {
        try LiveNetwork().run {
            var recorder = try Recorder()
            let author = try Self.batch(inNamespace: false)
            _ = try Self.ports(&recorder) { try author.addRule(100) }
            let bytes = recorder.takePending()
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
    private let answers = Locked<(answer: Requester?, lookups: Int)>((nil, 0))

    private func process(_ name: String) -> Requester {
        Requester(
            certainty: .holder, processes: [Requester.Process(identifier: 7, name: name, unit: nil)])
    }

    private func lookup(taking time: Duration = .zero) -> PortLookup {
        PortLookup { [answers] ports in
            let end = ContinuousClock.now + time
            while ContinuousClock.now < end {}
            return answers.withLock { state in
                state.lookups += 1
                return ports.map { _ in state.answer }
            }
        }
    }

    private func answer(_ requester: Requester?) { answers.withLock { $0.answer = requester } }
    private var lookups: Int { answers.withLock { $0.lookups } }

    private func stated(_ name: String?, _ ports: UInt32...) -> [RecordingAnnotation] {
        ports.map { .requester(port: $0, name.map(process)) }
    }

    @Test func `a port is looked up and stated once, and several with one look`() {
        answer(process("dhclient"))
        var ports = lookup()
        #expect(ports.statements(about: [7, 9], now: start) == stated("dhclient", 7, 9))
        #expect(lookups == 1)
        #expect(ports.statements(about: [7], now: start) == [])
        #expect(ports.statements(about: [7, 8], now: start) == stated("dhclient", 8))
        #expect(lookups == 2)
    }

    @Test func `a port that stands for another process after a while is stated again`() {
        answer(process("dhclient"))
        var ports = lookup()
        _ = ports.statements(about: [7], now: start)
        #expect(ports.statements(about: [7], now: start + .seconds(2)) == [])
        answer(process("networkd"))
        #expect(ports.statements(about: [7], now: start + .milliseconds(2_500)) == [])
        #expect(ports.statements(about: [7], now: start + .seconds(4)) == stated("networkd", 7))
        answer(nil)
        #expect(ports.statements(about: [7], now: start + .seconds(6)) == stated(nil, 7))
        #expect(ports.statements(about: [7], now: start + .seconds(8)) == [])
    }

    @Test func `after what was stated is dropped, a port is stated again without a lookup`() {
        answer(process("dhclient"))
        var ports = lookup()
        _ = ports.statements(about: [7], now: start)
        ports.stateAgain()
        #expect(ports.statements(about: [7], now: start) == stated("dhclient", 7))
        #expect(lookups == 1)
    }

    @Test func `lookups take a twentieth of the time, and half a second at once`() {
        answer(process("ip"))
        // Each takes 50 ms of the real clock, and they come at one instant: ten of them, or a few less.
        var ports = lookup(taking: .milliseconds(50))
        for port in 0..<100 as Range<UInt32> { _ = ports.statements(about: [port], now: start) }
        #expect(lookups <= 11 && lookups >= 1)
        let before = lookups
        // A second later there are 50 ms more.
        for port in 200..<300 as Range<UInt32> {
            _ = ports.statements(about: [port], now: start + .seconds(1))
        }
        #expect(lookups <= before + 2)
    }

    /// The port can belong to another process by then.
    @Test func `without the time for a lookup, what was stated of a port is taken back`() {
        answer(process("alpha"))
        var ports = lookup(taking: .milliseconds(600))
        #expect(ports.statements(about: [1], now: start) == stated("alpha", 1))
        #expect(ports.statements(about: [1], now: start + .seconds(1)) == stated(nil, 1))
        #expect(ports.statements(about: [1], now: start + .milliseconds(1_001)) == [])
        #expect(lookups == 1)
    }

    @Test func `a storm of ports takes no more memory than a thousand of them`() {
        answer(process("ip"))
        var ports = lookup()
        for port in 0..<20_000 as Range<UInt32> {
            _ = ports.statements(about: [port], now: start + .milliseconds(Int(port) * 10))
            #expect(ports.count <= 1_024)
        }
        _ = ports.statements(about: Array(50_000..<60_000), now: start + .seconds(300))
        #expect(ports.count <= 1_024)
    }

    /// Without that, nothing was stated of a port any more once a thousand programs had made changes.
    @Test func `beyond a thousand ports those of before are taken back, and none that is still to come`() {
        answer(process("ip"))
        var ports = lookup()
        var known: Set<UInt32> = []
        for port in 0..<3_000 as Range<UInt32> {
            let burst = [port, 100_000]
            for statement in ports.statements(about: burst, now: start + .seconds(Int(port))) {
                guard case .requester(let port, let requester) = statement else { continue }
                if requester == nil { known.remove(port) } else { known.insert(port) }
            }
            #expect(known.isSuperset(of: burst) && known.count <= 1_024)
        }
    }

    @Test(
        arguments: [
            (Requester.Certainty.holder, ["dhclient"], "then dhclient (dhclient.service)"),
            (
                .holders, ["systemd-networkd", "systemd"],
                "then systemd-networkd (systemd-networkd.service), whose socket systemd (systemd.service) opened"
            ),
            (.holders, ["a", "b", "c"], "then one of a (a.service), b (b.service), c (c.service)"),
            (.candidates, ["a", "b"], "then perhaps a (a.service) or b (b.service)"),
            (
                .candidates, ["systemd"],
                "then perhaps systemd (systemd.service), or a service whose socket it opened"
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
}
