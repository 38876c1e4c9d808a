// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// What went wrong in the making of a network, in words.
struct NetworkFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// What a system call just said.
    static func system(_ what: String) -> NetworkFailure {
        NetworkFailure("\(what): \(String(cString: strerror(errno)))")
    }
}

/// The network namespace of this process, which has one thread: what it opens and starts is in there.
enum Namespace {
    private static let newNetwork: Int32 = 0x4000_0000
    private static let newUser: Int32 = 0x1000_0000
    private static let newMounts: Int32 = 0x0002_0000

    /// Gets the right to create network namespaces, as root of a new user namespace if necessary.
    static func prepare() throws(NetworkFailure) {
        if unshare(newNetwork) { return }
        let (user, group) = (getuid(), getgid())
        guard unshare(newUser) else { throw .system("make a user namespace") }
        try write("deny", to: "/proc/self/setgroups")
        try write("0 \(user) 1", to: "/proc/self/uid_map")
        try write("0 \(group) 1", to: "/proc/self/gid_map")
    }

    /// Moves into a fresh, empty network.
    static func renew() throws(NetworkFailure) {
        guard unshare(newNetwork) else { throw .system("make a network namespace") }
        // Addresses are usable at once, and the kernel adds none of its own.
        try write("0", to: "/proc/sys/net/ipv6/conf/all/accept_dad")
        try write("0", to: "/proc/sys/net/ipv6/conf/default/accept_dad")
        try write("0", to: "/proc/sys/net/ipv6/conf/default/accept_ra")
        try write("1", to: "/proc/sys/net/ipv6/conf/default/addr_gen_mode")
    }

    /// Gets mounts of its own, with a copy of /etc in which files can be written.
    static func copyConfiguration() throws(NetworkFailure) {
        guard unshare(newMounts) else { throw .system("make a mount namespace") }
        let script = """
            mount --make-rprivate / && mount -t tmpfs none /mnt && cp -rL /etc/. /mnt 2>/dev/null; \
            mount --bind /mnt /etc
            """
        guard system(script) == 0 else { throw NetworkFailure("mount a copy of /etc") }
    }

    /// Whether a user is known here: a query in another's name is refused in a user namespace.
    static func knows(user: UInt32) -> Bool {
        guard user != getuid(), let file = fopen("/proc/self/uid_map", "r") else { return true }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { UInt64($0) }
            if numbers.count == 3, user >= numbers[0], UInt64(user) - numbers[0] < numbers[2] { return true }
        }
        return false
    }

    /// Whether the kernel has VRFs; asked once, in the network of that moment.
    static let hasVRF: Bool = {
        let name = "probe0"
        try? Command.run([.ip("link add \(name) type vrf table 500")])
        guard if_nametoindex(name) != 0 else { return false }
        try? Command.run([.ip("link del \(name)")])
        return true
    }()

    /// The kinds of tunnels with a remote end that the kernel has; found once, in the network of that moment.
    static let tunnelKinds: [String] = ["vxlan", "gre", "ipip"].filter { kind in
        let name = "probe1"
        let identifier = kind == "vxlan" ? "id 1 dstport 4789" : ""
        try? Command.run([.ip("link add \(name) type \(kind) remote 192.0.2.1 \(identifier)")])
        guard if_nametoindex(name) != 0 else { return false }
        try? Command.run([.ip("link del \(name)")])
        return true
    }

    /// Whether a file exists.
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Writes one of the files below /proc.
    static func write(_ text: String, to path: String) throws(NetworkFailure) {
        guard let file = fopen(path, "w") else { throw .system(path) }
        let isWritten = fputs(text, file) >= 0
        guard fclose(file) == 0, isWritten else { throw .system(path) }
    }

    /// `unshare`, which Glibc's headers hide unless GNU extensions are asked for.
    private static func unshare(_ flags: Int32) -> Bool {
        typealias Unshare = @convention(c) (Int32) -> Int32
        guard let symbol = dlsym(nil, "unshare") else { return false }
        return unsafeBitCast(symbol, to: Unshare.self)(flags) == 0
    }
}
