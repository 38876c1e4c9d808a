// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel

/// The C library's resolver over files of this process, and its way to ask for a route.
enum Getaddrinfo {
    /// Writes the addresses of names, and the policy; `nil` removes it.
    static func configure(_ sets: [[IPAddress]], gaiConf: String?) throws(NetworkFailure) {
        let lines = sets.enumerated().flatMap { number, set in set.map { "\($0) \(name(number))\n" } }
        try Namespace.write(lines.joined(), to: "/etc/hosts")
        try Namespace.write("multi on\n", to: "/etc/host.conf")
        try Namespace.write("hosts: files\n", to: "/etc/nsswitch.conf")
        if let gaiConf {
            try Namespace.write(gaiConf, to: "/etc/gai.conf")
        } else {
            unlink("/etc/gai.conf")
        }
    }

    /// The addresses of a set, in the order of getaddrinfo.
    static func order(ofSet number: Int) throws(NetworkFailure) -> [IPAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(name(number), nil, &hints, &list)
        guard status == 0, let list else {
            throw NetworkFailure("getaddrinfo: \(String(cString: gai_strerror(status)))")
        }
        defer { freeaddrinfo(list) }
        return sequence(first: list, next: \.pointee.ai_next).compactMap { entry in
            guard let start = entry.pointee.ai_addr else { return nil }
            let isIPv4 = entry.pointee.ai_family == AF_INET
            let bytes = UnsafeRawBufferPointer(start: start, count: Int(entry.pointee.ai_addrlen))
            return IPAddress(bytes: bytes[(isIPv4 ? 4 : 8)..<(isIPv4 ? 8 : 24)])
        }
    }

    private static func name(_ number: Int) -> String { "set\(number).test" }

    /// The source address of a UDP socket without options that connects to an address; `nil` if it does not.
    static func source(for address: IPAddress) -> IPAddress? {
        let isIPv4 = address.family == .v4
        let descriptor = socket(
            isIPv4 ? AF_INET : AF_INET6, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: isIPv4 ? 16 : 28)
        withUnsafeBytes(of: sa_family_t(isIPv4 ? AF_INET : AF_INET6)) {
            bytes.replaceSubrange(0..<2, with: $0)
        }
        bytes.replaceSubrange((isIPv4 ? 4 : 8)..<(isIPv4 ? 8 : 24), with: address.networkBytes)
        var length = socklen_t(bytes.count)
        let isConnected = bytes.withUnsafeMutableBytes { buffer in
            guard let start = buffer.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
            return connect(descriptor, start, length) == 0 && getsockname(descriptor, start, &length) == 0
        }
        return isConnected ? IPAddress(bytes: bytes[(isIPv4 ? 4 : 8)..<(isIPv4 ? 8 : 24)]) : nil
    }
}
