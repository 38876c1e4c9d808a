// SPDX-License-Identifier: Apache-2.0

package import Glibc

extension IPAddress {
    /// Calls a closure with the address as a `sockaddr_in` or a `sockaddr_in6`, and its size in bytes.
    ///
    /// - Parameters:
    ///   - port: The port in host byte order.
    ///   - scope: The `sin6_scope_id`; a `sockaddr_in` has none.
    ///   - body: Called with the socket address, which is valid only during the call.
    /// - Returns: What the closure returns.
    /// - Throws: What the closure throws.
    package func withSockaddr<Result>(
        port: UInt16,
        scope: UInt32,
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result
    ) rethrows -> Result {
        switch family {
        case .v4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr = withNetworkBytes { $0.loadUnaligned(as: in_addr.self) }
            return try Self.withSockaddr(address, body)
        case .v6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = withNetworkBytes { $0.loadUnaligned(as: in6_addr.self) }
            address.sin6_scope_id = scope
            return try Self.withSockaddr(address, body)
        }
    }

    private static func withSockaddr<Address, Result>(
        _ address: Address,
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result
    ) rethrows -> Result {
        try withUnsafePointer(to: address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                try body($0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }
}
