// SPDX-License-Identifier: Apache-2.0

public import Glibc
internal import RoutingModel

extension IPAddress {
    /// Reads the address of a socket address, with `sin6_scope_id` as its zone.
    ///
    /// The bytes are copied, so that it need not be aligned.
    ///
    /// - Parameters:
    ///   - sockaddr: An IPv4 or IPv6 socket address.
    ///   - length: The size of what it points to, in bytes.
    /// - Throws: `ReachabilityError` when it is too short, or of another family.
    public init(
        sockaddr: UnsafePointer<sockaddr>,
        length: socklen_t
    ) throws(ReachabilityError) {
        let bytes = UnsafeRawBufferPointer(start: sockaddr, count: Int(length))
        guard bytes.count >= MemoryLayout<sa_family_t>.size else {
            throw Self.tooShort(length, for: "socket address", needs: MemoryLayout<sockaddr_in>.size)
        }
        switch Int32(bytes.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET:
            guard bytes.count >= MemoryLayout<sockaddr_in>.size else {
                throw Self.tooShort(length, for: "sockaddr_in", needs: MemoryLayout<sockaddr_in>.size)
            }
            let address = bytes.loadUnaligned(as: sockaddr_in.self)
            self.init(v4: UInt32(bigEndian: address.sin_addr.s_addr))
        case AF_INET6:
            guard bytes.count >= MemoryLayout<sockaddr_in6>.size else {
                throw Self.tooShort(length, for: "sockaddr_in6", needs: MemoryLayout<sockaddr_in6>.size)
            }
            self.init(bytes.loadUnaligned(as: sockaddr_in6.self))
        case let family:
            throw ReachabilityError(
                .unsupportedFamily,
                operation: "read a socket address",
                message: "socket address family \(family) is not supported: "
                    + "give a sockaddr_in (AF_INET) or a sockaddr_in6 (AF_INET6)"
            )
        }
    }

    /// Calls a closure with the address as a socket address: a `sockaddr_in`, or a `sockaddr_in6` with the zone as its
    /// `sin6_scope_id`.
    ///
    /// ```swift
    /// let result = try address.withSockaddr(port: 443) { connect(descriptor, $0, $1) }
    /// ```
    ///
    /// A zone that is an index is passed on as it is, also where no interface has it: the socket decides. The index of
    /// a name is looked up in the network namespace of the calling thread. A `sockaddr_in` has no place for a zone:
    /// bind the socket to the interface. The flow label is 0.
    ///
    /// - Parameters:
    ///   - port: The port in host byte order.
    ///   - body: Called with the socket address, which is valid only during the call, and its size in bytes.
    /// - Returns: What the closure returns.
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.systemFailure` and the errno ENODEV if no
    ///   interface has the name; what the closure throws.
    public func withSockaddr<Result>(
        port: UInt16,
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result
    ) throws -> Result {
        try withSockaddr(port: port, scope: family == .v6 ? scopeIndex() : 0, body)
    }

    /// The index of the zone; 0 for none.
    private func scopeIndex() throws(ReachabilityError) -> UInt32 {
        guard let name = zone?.name else { return zone?.index ?? 0 }
        let index = if_nametoindex(name)
        guard index > 0 else {
            throw ReachabilityError(
                in: .systemCall, operation: "find the interface \"\(name)\"", number: errno)
        }
        return index
    }

    private init(_ address: sockaddr_in6) {
        self = withUnsafeBytes(of: address.sin6_addr) { bytes in
            // An in6_addr is never empty.
            bytes.baseAddress.map { IPAddress(family: .v6, networkBytes: $0) } ?? .anyV6
        }
        if address.sin6_scope_id != 0 { zone = ZoneIdentifier(index: address.sin6_scope_id) }
    }

    private static func tooShort(_ length: socklen_t, for type: String, needs size: Int) -> ReachabilityError
    {
        ReachabilityError(
            .invalidAddress,
            operation: "read a socket address",
            message: "\(length) bytes are too few for a \(type): give its size, \(size), as the length"
        )
    }
}
