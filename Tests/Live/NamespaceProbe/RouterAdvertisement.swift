// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A router advertisement (RFC 4861, section 4.2).
struct RouterAdvertisement {
    /// How long the sender is a default router, in seconds; 0 for no longer.
    var lifetime: UInt16

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
        let bytes = bytes
        let sent = withUnsafePointer(to: &target) { target in
            target.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
            }
        }
        guard sent == bytes.count else { throw Probe.Failure.system("sendto \(Self.allNodes)") }
    }

    /// Type 134, code 0, a checksum, the hop limit to use, no flags, the lifetime, and two times left open.
    private var bytes: [UInt8] {
        [134, 0, 0, 0, 64, 0, UInt8(lifetime >> 8), UInt8(lifetime & 255)] + [UInt8](repeating: 0, count: 8)
    }

    private func set(_ option: Int32, _ value: Int32, of descriptor: Int32) throws {
        var value = value
        let size = socklen_t(MemoryLayout<Int32>.size)
        guard setsockopt(descriptor, Int32(IPPROTO_IPV6), option, &value, size) == 0 else {
            throw Probe.Failure.system("setsockopt \(option)")
        }
    }
}
