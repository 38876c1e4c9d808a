// SPDX-License-Identifier: Apache-2.0

public import Glibc
internal import RoutingModel

extension IPAddress {
    /// Reads the address of a socket address, with `sin6_scope_id` as its zone.
    ///
    /// The bytes are copied and need no alignment.
    ///
    /// - Parameters:
    ///   - sockaddr: An IPv4 or IPv6 socket address.
    ///   - length: The size of the socket address, in bytes.
    /// - Throws: `ReachabilityError` if the socket address is too short, or of another family.
    public init(
        sockaddr: UnsafePointer<sockaddr>,
        length: socklen_t
    ) throws(ReachabilityError) {
        let bytes = UnsafeRawBufferPointer(start: sockaddr, count: Int(length))
        guard bytes.count >= MemoryLayout<sa_family_t>.size else {
            throw Self.tooShort(length, for: "socket address", needs: MemoryLayout<sockaddr_in>.size)
        }
        let needed: (type: String, size: Int)
        switch Int32(bytes.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET: needed = ("sockaddr_in", MemoryLayout<sockaddr_in>.size)
        case AF_INET6: needed = ("sockaddr_in6", MemoryLayout<sockaddr_in6>.size)
        case let family:
            throw ReachabilityError(
                .unsupportedFamily,
                operation: "read a socket address",
                message: "socket address family \(family) is not supported: "
                    + "give a sockaddr_in (AF_INET) or a sockaddr_in6 (AF_INET6)"
            )
        }
        guard let address = IPAddress(sockaddr: bytes) else {
            throw Self.tooShort(length, for: needed.type, needs: needed.size)
        }
        self = address
    }

    /// Calls a closure with the address as a socket address: a `sockaddr_in`, or a `sockaddr_in6` with the zone in
    /// `sin6_scope_id`.
    ///
    /// ```swift
    /// let result = try address.withSockaddr(port: 443) { connect(descriptor, $0, $1) }
    /// ```
    ///
    /// A zone that is an index is passed on unchanged, even if no interface has that index: the socket decides. A
    /// zone that is a name is looked up in the network namespace of the calling thread. A `sockaddr_in` has no field
    /// for a zone: bind the socket to the interface instead. The flow label is 0.
    ///
    /// - Parameters:
    ///   - port: The port in host byte order.
    ///   - body: Called with the socket address, which is valid only during the call, and its size in bytes.
    /// - Returns: The result of the closure.
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.systemFailure` and the errno ENODEV if
    ///   no interface has the name; the error of the closure.
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

    private static func tooShort(_ length: socklen_t, for type: String, needs size: Int) -> ReachabilityError
    {
        ReachabilityError(
            .invalidAddress,
            operation: "read a socket address",
            message: "\(length) bytes are too few for a \(type): give its size, \(size), as the length"
        )
    }
}
