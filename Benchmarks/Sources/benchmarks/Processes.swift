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
        try writeFile(commands, addresses.map { "route get \($0)\n" }.joined())
        for options in [["-"], ["--json", "-"]] {
            try duel(
                "\(addresses.count) addresses, each",
                Command(words: [netflags] + options, input: plain, statuses: [1], lines: addresses.count),
                Command(words: ["ip", "-force", "-batch", commands], statuses: [1, 2]), .batch,
                batch: addresses.count, rounds: 15)
        }
        try sockets()
    }

    /// As many connected sockets as this process can open, which both commands list: ours with their processes.
    private func sockets() throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = 9
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let open = try (0..<min(Int(limit.rlim_cur) - 100, 100_000)).map { number in
            let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { throw Failure("socket", number: errno) }
            // Each thousand to another address, for which the ports are free again.
            address.sin_addr.s_addr = UInt32(0x7f00_0001 + number / 1_000).bigEndian
            let status = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard status == 0 else { throw Failure("connect", number: errno) }
            return descriptor
        }
        defer { for descriptor in open { close(descriptor) } }
        try duel(
            "\(open.count) sockets, each",
            Command(words: [netflags, "sockets"], statuses: [0], lines: open.count),
            Command(words: ["ss", "-tunH"], statuses: [0], lines: open.count), .sockets, batch: open.count,
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
        _ question: String, _ ours: Command, _ theirs: Command, _ goal: Goal, batch: Int, rounds: Int
    ) throws {
        for command in [ours, theirs] { try command.check(output: "\(folder)/output") }
        // One run of a process does the work of a batch.
        try Duel(
            question: question, ours: Side(ours.name) { _ in try ours.run() },
            theirs: Side(theirs.name) { _ in try theirs.run() }, goal: goal, batch: batch, rounds: rounds
        ).run()
    }
}

/// A program to run from its start to its end.
private struct Command {
    /// The program, looked for in PATH, and its arguments.
    let words: [String]
    /// The file that it reads as its standard input.
    var input = "/dev/null"
    /// The exit statuses of a run that does its work.
    let statuses: [Int32]
    /// How many lines it writes; `nil` for any number.
    var lines: Int?

    /// The command without the paths of files.
    var name: String {
        let program = words[0].split(separator: "/").last.map(String.init) ?? ""
        return ([program] + words.dropFirst().filter { !$0.contains("/") }).joined(separator: " ")
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
        let arguments = words.map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        var (child, ending) = (pid_t(), Int32())
        try checked(
            "start \(name)", -posix_spawnp(&child, words[0], &actions, nil, arguments + [nil], environ))
        while waitpid(child, &ending, 0) < 0 {
            guard errno == EINTR else { throw Failure("wait for \(name)", number: errno) }
        }
        guard ending & 0x7f == 0, statuses.contains(ending >> 8 & 0xff) else {
            throw Failure("\(name) ended with the wait status \(ending)")
        }
    }
}
