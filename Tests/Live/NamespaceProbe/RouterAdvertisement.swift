// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A router advertisement (RFC 4861, section 4.2, and RFC 4191).
struct RouterAdvertisement {
    /// A network of 64 bits on the link, in which hosts make themselves addresses.
    struct Prefix {
        /// An address of the network.
        var address: String
        /// How long both are valid, in seconds.
        var valid: UInt32
        /// How long the addresses are preferred.
        var preferred: UInt32
    }

    /// How long the sender is a default router, in seconds; 0 for no longer.
    var lifetime: UInt16
    /// Whether it is preferred to other routers.
    var isPreferred = false
    /// The network that it announces.
    var prefix: Prefix?

    private static let allNodes = "ff02::1"
    /// Receivers drop what has come through a router.
    private static let hopLimit: Int32 = 255

    /// Sends it to all that are on an interface's link; the kernel fills the checksum in.
    func send(on interface: String) throws {
        let index = if_nametoindex(interface)
        guard index != 0 else { throw Probe.Failure.system(interface) }
        let descriptor = socket(
            AF_INET6,
            Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
            Int32(IPPROTO_ICMPV6)
        )
        guard descriptor >= 0 else { throw Probe.Failure.system("socket") }
        defer { close(descriptor) }
        try set(IPV6_MULTICAST_HOPS, Self.hopLimit, of: descriptor)
        try set(IPV6_MULTICAST_IF, Int32(bitPattern: index), of: descriptor)
        var target = sockaddr_in6()
        target.sin6_family = sa_family_t(AF_INET6)
        target.sin6_scope_id = index
        inet_pton(AF_INET6, Self.allNodes, &target.sin6_addr)
        let bytes = try bytes
        let sent = withUnsafePointer(to: &target) { target in
            target.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
            }
        }
        guard sent == bytes.count else { throw Probe.Failure.system("sendto \(Self.allNodes)") }
    }

    private var bytes: [UInt8] {
        get throws {
            // Type 134, code 0, a checksum, the hop limit to use, flags, the lifetime, and two times left open.
            let head = [134, 0, 0, 0, 64, isPreferred ? 0x08 : 0] + lifetime.bigEndianBytes
            return try head + [UInt8](repeating: 0, count: 8) + (prefix.map(option) ?? [])
        }
    }

    /// Type 3, 32 bytes, a length of 64 bits, flags for both uses, the lifetimes, four unused bytes, the prefix.
    private func option(_ prefix: Prefix) throws -> [UInt8] {
        var address = in6_addr()
        guard inet_pton(AF_INET6, prefix.address, &address) == 1 else {
            throw Probe.Failure("\(prefix.address) is not an IPv6 address")
        }
        let lifetimes = prefix.valid.bigEndianBytes + prefix.preferred.bigEndianBytes
        return [3, 4, 64, 0xc0] + lifetimes + [0, 0, 0, 0] + withUnsafeBytes(of: address, Array.init)
    }

    private func set(_ option: Int32, _ value: Int32, of descriptor: Int32) throws {
        var value = value
        let size = socklen_t(MemoryLayout<Int32>.size)
        guard setsockopt(descriptor, Int32(IPPROTO_IPV6), option, &value, size) == 0 else {
            throw Probe.Failure.system("setsockopt \(option)")
        }
    }
}

extension FixedWidthInteger {
    fileprivate var bigEndianBytes: [UInt8] {
        withUnsafeBytes(of: bigEndian, Array.init)
    }
}
