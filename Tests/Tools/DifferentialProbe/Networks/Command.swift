// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// One change to a network: what follows `ip` or `ip -6` on a command line, or a setting below /proc/sys.
enum Command: Hashable, CustomStringConvertible {
    case ip(String)
    case ip6(String)
    case setting(path: String, value: String)

    /// Creates a change in the words of ip(8), or of sysctl(8) with slashes.
    init(change: String) {
        let words = change.split(separator: " ")
        let parts = (words.last ?? "").split(separator: "=").map(String.init)
        self =
            words.first == "sysctl" && parts.count == 2
            ? .setting(path: parts[0], value: parts[1]) : .ip(change)
    }

    /// As it would be typed.
    var description: String {
        switch self {
        case .ip(let words): "ip \(words)"
        case .ip6(let words): "ip -6 \(words)"
        case .setting(let path, let value): "echo \(value) > /proc/sys/\(path)"
        }
    }

    /// The program that takes this one's words and its neighbours', a line each.
    private var batch: (program: String, words: String)? {
        switch self {
        case .ip(let words): ("ip", words)
        case .ip6(let words): ("ip -6", words)
        case .setting: nil
        }
    }

    /// Makes the changes in their order; those that the kernel refuses are passed over.
    static func run(_ commands: [Command]) throws(NetworkFailure) {
        var rest = commands[...]
        while let first = rest.first {
            if case .setting(let path, let value) = first {
                try Namespace.write(value, to: "/proc/sys/\(path)")
                rest = rest.dropFirst()
                continue
            }
            guard let program = first.batch?.program else { return }
            let run = rest.prefix { $0.batch?.program == program }
            try feed(run.compactMap { $0.batch?.words }, to: program)
            rest = rest.dropFirst(run.count)
        }
    }

    private static func feed(_ lines: [String], to program: String) throws(NetworkFailure) {
        let search = "PATH=\"$PATH:/usr/sbin:/sbin\""
        guard let stream = popen("\(search) exec \(program) -force -batch - >/dev/null 2>&1", "w") else {
            throw .system("start ip")
        }
        fputs(lines.joined(separator: "\n") + "\n", stream)
        let status = pclose(stream)
        // 1: at least one line was refused, which is part of the game. 255: ip ended at an interface that it does not
        // know.
        guard [0, 1, 255].contains(status >> 8), status & 0x7f == 0 else {
            throw NetworkFailure("ip: status \(status)")
        }
    }
}
