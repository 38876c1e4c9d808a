// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import TestSupport

/// Draws changes of interfaces.
struct LinkGenerator {
    /// An interface as the C library lists it.
    struct Interface {
        let index: UInt32
        let name: [UInt8]
    }

    /// The most interfaces that a network has.
    private static let limit = 24
    /// Names that mean something elsewhere: the kernel gives an interface `all` or `default` no settings.
    private static let words = [
        "all", "default", "lo", "0", "3", "7", "-4", "-", "dev", "none", "any", "e%d", "$(true)", "a'b", "\"",
        "\\n", "*",
        "ifb0.1", "e0@e1", "#", "%", "\u{e9}", "\u{202e}x",
    ]

    private var random: SeededGenerator

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    /// A change of one of the interfaces, or a further one.
    mutating func change(_ interfaces: [Interface]) -> LinkChange {
        let one = random.pick(interfaces).name
        let other = random.pick(interfaces).name
        if interfaces.count < 4 || (interfaces.count < Self.limit && random.once(in: 4)) {
            return addition(one)
        }
        switch random.below(12) {
        case 0, 1: return LinkChange("link", "set", "dev", one, "name", name())
        case 2: return LinkChange("link", "set", "dev", one, "up")
        case 3: return LinkChange("link", "set", "dev", one, "down")
        case 4, 5: return LinkChange("link", "set", "dev", one, "master", other)
        case 6: return LinkChange("link", "set", "dev", one, "nomaster")
        case 7: return LinkChange("address", "add", address(), "dev", one)
        case 8: return LinkChange("link", "property", "add", "dev", one, "altname", name())
        case 9:
            return LinkChange("route", "replace", random.pick(["default", "10.0.5.0/24"]), "dev", one)
        case 10 where random.once(in: 3): return LinkChange("link", "delete", "dev", one)
        case 10: return LinkChange("link", "set", "dev", one, "arp", random.pick(["on", "off"]))
        default: return LinkChange("link", "set", "dev", one, "carrier", random.pick(["on", "off"]))
        }
    }

    private mutating func addition(_ below: [UInt8]) -> LinkChange {
        switch random.below(7) {
        case 0: LinkChange("link", "add", "name", name(), "type", "veth", "peer", "name", name())
        case 1, 2: LinkChange("link", "add", "name", name(), "type", "bridge")
        case 3, 4:
            LinkChange(
                "link", "add", "link", below, "name", name(), "type", "macvlan", "mode",
                random.pick(["bridge", "private", "passthru"]))
        case 5:
            LinkChange(
                "link", "add", "name", name(), "type", "vxlan", "id", "\(random.below(1_000))", "dstport",
                "4789", "remote", "10.0.3.7", "dev", below)
        default: LinkChange("link", "add", "name", name(), "type", "ifb")
        }
    }

    private mutating func address() -> String {
        random.once(in: 3)
            ? "2001:db8:\(random.below(4))::\(random.below(9) + 1)/\(random.pick([64, 128]))"
            : "10.0.\(random.below(6)).\(random.below(9) + 1)/\(random.pick([24, 32]))"
    }

    /// One to fifteen bytes without those that the kernel and `ip` refuse in a name.
    private mutating func name() -> [UInt8] {
        if random.once(in: 3) { return Array(random.pick(Self.words).utf8) }
        return (0...random.below(15)).map { _ in
            var byte: UInt8
            repeat { byte = UInt8(1 + random.below(255)) } while "/: \t\n\r\u{b}\u{c}".utf8.contains(byte)
            return byte
        }
    }
}

/// One `ip` command; its words are bytes.
struct LinkChange: CustomStringConvertible {
    let words: [[UInt8]]

    init(_ words: any LinkWord...) {
        self.words = words.map(\.bytes)
    }

    /// As it would be typed in bash.
    var description: String {
        "ip "
            + words.map { word in
                let isPlain = word.allSatisfy { $0 < 127 && $0 > 32 && !"$'\"\\*#".utf8.contains($0) }
                if isPlain { return String(decoding: word, as: UTF8.self) }
                return "$'"
                    + word.map { byte in
                        let digits = String(byte, radix: 16)
                        return "\\x" + (byte < 16 ? "0" : "") + digits
                    }.joined() + "'"
            }.joined(separator: " ")
    }

    /// - Returns: Whether `ip` succeeds.
    func run() throws -> Bool {
        var arguments = (["ip".bytes] + words).map { word in
            strdup((word + [0]).map(CChar.init(bitPattern:)))
        }
        defer { for argument in arguments { free(argument) } }
        arguments.append(nil)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
        }
        var process: pid_t = 0
        guard posix_spawnp(&process, "ip", &actions, nil, arguments, environ) == 0 else {
            throw NetworkFailure("start ip")
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status == 0
    }
}

/// A word of a command.
protocol LinkWord {
    var bytes: [UInt8] { get }
}

extension String: LinkWord {
    var bytes: [UInt8] { Array(utf8) }
}

extension [UInt8]: LinkWord {
    var bytes: [UInt8] { self }
}
