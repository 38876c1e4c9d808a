// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The command line against iproute2's, as whole processes.
struct Processes {
    private static let addressCount = 100_000
    /// The networks that addresses are drawn from, as the first address and how many bits to draw.
    private static let networks: [(first: UInt32, bits: UInt32)] = [
        (0x7f00_0000, 24),  // 127.0.0.0/8
        (0xc000_0200, 8),  // 192.0.2.0/24
        (0xc633_6400, 8),  // 198.51.100.0/24
        (0xcb00_7100, 8),  // 203.0.113.0/24
        (0x0a00_0000, 24),  // 10.0.0.0/8
        (0xac10_0000, 20),  // 172.16.0.0/12
        (0xc0a8_0000, 16),  // 192.168.0.0/16
    ]

    /// The path of netflags.
    let netflags: String
    /// A folder for the lists of addresses and for outputs.
    let folder: String

    func run() throws {
        // One address each, started and ended.
        try duel(
            "one address, cold", Command(words: [netflags, "127.0.0.1"], statuses: [0], lines: 1),
            Command(words: ["ip", "route", "get", "127.0.0.1"], statuses: [0], lines: 2), .cold, batch: 1,
            rounds: 400)

        // Many addresses in one process. Some are not reachable, which both say with their exit status.
        let (plain, commands) = ("\(folder)/addresses", "\(folder)/commands")
        let addresses = Self.addresses()
        try writeFile(plain, addresses.map { "\($0)\n" }.joined())
        // The same two lookups as ours: the entry of the table, and the packet's own route.
        try writeFile(
            commands, addresses.map { "route get fibmatch \($0)\nroute get \($0)\n" }.joined())
        for options in [["-"], ["--json", "-"]] {
            try duel(
                "\(addresses.count) addresses, each",
                Command(words: [netflags] + options, input: plain, statuses: [1], lines: addresses.count),
                Command(
                    words: ["ip", "-force", "-batch", commands], note: ", 2 lookups each", statuses: [1, 2]),
                .batch,
                batch: addresses.count, rounds: 15)
        }
        try sockets()
    }

    /// Connected sockets of several processes, which both commands list: ours with the processes.
    private func sockets() throws {
        let holders = try (1...8).map { try SocketHolder(number: $0) }
        defer { for holder in holders { holder.end() } }
        let count = holders.map(\.count).reduce(0, +)
        try duel(
            "\(count) sockets, each",
            Command(words: [netflags, "sockets"], statuses: [0], lines: count),
            Command(words: ["ss", "-tunH"], statuses: [0], lines: count), .sockets, batch: count,
            rounds: 15)
    }

    /// Addresses of loopback, documentation and private networks, the same in every run.
    private static func addresses() -> [String] {
        var random = Random(seed: 1)
        return (0..<addressCount).map { _ in
            let network = networks[Int(random.next() % UInt64(networks.count))]
            return dotted(
                network.first | UInt32(truncatingIfNeeded: random.next() >> 16) & ((1 << network.bits) - 1))
        }
    }

    private func duel(
        _ name: String, _ ours: Command, _ theirs: Command, _ goal: Goal, batch: Int, rounds: Int
    ) throws {
        for command in [ours, theirs] { try command.check(output: "\(folder)/output") }
        // One run of a process does the work of a batch.
        try Duel(
            name: name, ours: Side(ours.name) { _ in try ours.run() },
            theirs: Side(theirs.name) { _ in try theirs.run() }, goal: goal, batch: batch, rounds: rounds
        ).run()
    }
}

/// A program to run from its start to its end.
private struct Command {
    /// The program, looked for in PATH, and its arguments.
    let words: [String]
    /// What it does, behind its name.
    var note = ""
    /// The file that it reads as its standard input.
    var input = "/dev/null"
    /// The exit statuses of a run that does its work.
    let statuses: [Int32]
    /// How many lines it writes; `nil` for any number.
    var lines: Int?

    /// The command without the paths of files, and what it does.
    var name: String {
        let program = words[0].split(separator: "/").last.map(String.init) ?? ""
        return ([program] + words.dropFirst().filter { !$0.contains("/") }).joined(separator: " ") + note
    }

    /// Runs it once and looks at what it does: one that fails at once would be fast.
    func check(output: String) throws {
        try run(output: output)
        guard let file = fopen(output, "r") else { throw Failure("open \(output)", number: errno) }
        defer { fclose(file) }
        var written = 0
        while case let byte = getc(file), byte != EOF { written += byte == 10 ? 1 : 0 }
        guard lines == nil || written == lines else { throw Failure("\(name) wrote \(written) lines") }
    }

    /// Starts it and waits for its end.
    func run(output: String = "/dev/null") throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        let child = try start(words, &actions)
        var ending = Int32()
        while waitpid(child, &ending, 0) < 0 {
            guard errno == EINTR else { throw Failure("wait for \(name)", number: errno) }
        }
        guard ending & 0x7f == 0, statuses.contains(ending >> 8 & 0xff) else {
            throw Failure("\(name) ended with the wait status \(ending)")
        }
    }
}

/// A child process with connected sockets.
struct SocketHolder {
    /// How many sockets it has.
    let count: Int
    private let child: pid_t
    private let stream: Int32

    /// Starts the process, and waits until it has its sockets.
    init(number: Int) throws {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Failure("socketpair", number: errno)
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        child = try start(["/proc/self/exe", "hold-sockets", "\(number)"], &actions)
        stream = ends[0]
        close(ends[1])
        var answer = UInt32()
        guard read(stream, &answer, 4) == 4 else { throw Failure("a process could not open its sockets") }
        count = Int(answer)
    }

    /// Ends the process.
    func end() {
        close(stream)
        waitpid(child, nil, 0)
    }

    /// What the process does: opens up to 12,500 sockets, writes their number, and waits for the end of its input.
    static func hold(number: Int) throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let count = max(0, min(Int(limit.rlim_cur) - 100, 12_500))
        for index in 0..<count {
            let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
            guard descriptor >= 0 else { throw Failure("socket", number: errno) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            // A local address for each process, where all ports are free.
            for (call, host, port) in [(bind, UInt32(number), 1_024 + index), (connect, 0, 9)] {
                address.sin_addr.s_addr = (0x7f01_0000 | host).bigEndian
                address.sin_port = in_port_t(port).bigEndian
                let status = withUnsafePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        call(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                    }
                }
                guard status == 0 else { throw Failure("bind and connect", number: errno) }
            }
        }
        var answer = UInt32(count)
        write(STDOUT_FILENO, &answer, 4)
        while read(STDIN_FILENO, &answer, 1) > 0 {}
    }
}

/// Starts a program, which is looked for in PATH.
private func start(_ words: [String], _ actions: inout posix_spawn_file_actions_t) throws -> pid_t {
    let arguments = words.map { strdup($0) }
    defer { for argument in arguments { free(argument) } }
    var child = pid_t()
    try checked(
        "start \(words[0])", -posix_spawnp(&child, words[0], &actions, nil, arguments + [nil], environ))
    return child
}
