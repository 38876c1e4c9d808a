// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel

/// Asks the kernel a ``RouteQuery`` in the way of a program: with a socket.
///
/// connect(2) on a UDP socket selects the route and the source address and sends nothing. On a TCP socket it sends a
/// SYN: use TCP only inside a network namespace of the test. The socket is in the calling thread's network namespace.
package enum SocketWitness {
    /// The outcome for the socket.
    package enum Outcome: Hashable, Sendable, CustomStringConvertible {
        /// The kernel accepted the destination, and selected this source address and a route with this MTU.
        case connects(source: IPAddress?, mtu: Int32?)
        /// The kernel refused to bind to the source or to connect, with this errno.
        case refused(Int32)
        /// No socket can express the query here, for example a mark without the privilege to set marks.
        case unavailable(String)

        /// Whether the socket can send; `nil` if no socket can express the query.
        package var connects: Bool? {
            switch self {
            case .connects: true
            case .refused: false
            case .unavailable: nil
            }
        }

        package var description: String {
            switch self {
            case .connects(let source, _): "connects from \(source.map { "\($0)" } ?? "an unknown source")"
            case .refused(let number): "refused: \(String(cString: strerror(number)))"
            case .unavailable(let reason): "unavailable: \(reason)"
            }
        }
    }

    /// Public addresses that stand for the default path: one in each half of the IPv4 addresses, and two of IPv6.
    ///
    /// The library asks about other addresses.
    package static let publicAddresses = [
        IPAddress(8, 8, 8, 8), IPAddress(193, 0, 0, 1),
        IPAddress(v6High: 0x2a00 << 48, low: 1), IPAddress(v6High: 0x2001_4860 << 32, low: 1),
    ]

    /// Connects a socket with the binding, mark and owner of a query.
    ///
    /// An unspecified destination port is 0, as in the kernel's query. The zone of a link-scoped address becomes
    /// `sin6_scope_id`.
    package static func connect(_ query: RouteQuery) -> Outcome {
        do {
            let socket = try WitnessSocket(query)
            defer { socket.close() }
            return try socket.connect(query)
        } catch {
            return error.outcome
        }
    }

    /// Connects a socket for a query that can have an address of another host (IP_TRANSPARENT).
    ///
    /// - Returns: The result of the body for the descriptor; `nil` if the socket does not connect.
    package static func withTransparent<Value>(
        _ query: RouteQuery,
        _ body: (Int32) throws(ReachabilityError) -> Value
    ) throws(ReachabilityError) -> Value? {
        guard let socket = try? WitnessSocket(query, isTransparent: true) else { return nil }
        defer { socket.close() }
        guard case .connects? = try? socket.connect(query) else { return nil }
        return try body(socket.descriptor)
    }

    /// Connects a UDP socket for a query, and sends datagrams of one byte through it.
    ///
    /// - Returns: Whether the socket connected.
    package static func send(_ count: Int, _ query: RouteQuery) -> Bool {
        guard let socket = try? WitnessSocket(query) else { return false }
        defer { socket.close() }
        guard case .connects? = try? socket.connect(query) else { return false }
        socket.send(count)
        return true
    }
}

/// An early end of the attempt.
private struct WitnessEnd: Error {
    let outcome: SocketWitness.Outcome

    static func unavailable(_ operation: String) -> WitnessEnd {
        WitnessEnd(outcome: .unavailable("\(operation): \(String(cString: strerror(errno)))"))
    }
}

private struct WitnessSocket {
    let descriptor: Int32
    private let isStream: Bool

    init(_ query: RouteQuery, isTransparent: Bool = false) throws(WitnessEnd) {
        let family = query.destination.unmapped.family == .v4 ? AF_INET : AF_INET6
        isStream = query.ipProtocol == UInt8(IPPROTO_TCP)
        guard isStream || query.ipProtocol == nil || query.ipProtocol == UInt8(IPPROTO_UDP) else {
            throw WitnessEnd(outcome: .unavailable("no socket for IP protocol \(query.ipProtocol ?? 0)"))
        }
        // The owner of a socket is the file system user of the thread that opens it.
        let caller = query.user.map { Self.setFileSystemUser($0) }
        defer { if let caller { _ = Self.setFileSystemUser(caller) } }
        if let user = query.user, Self.setFileSystemUser(uid_t.max) != user {
            throw WitnessEnd(outcome: .unavailable("user \(user) is not mapped, or cannot be assumed"))
        }
        let type = isStream ? SOCK_STREAM : SOCK_DGRAM
        let flags = Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        descriptor = socket(family, Int32(type.rawValue) | flags, 0)
        guard descriptor >= 0 else {
            if errno == EAFNOSUPPORT { throw WitnessEnd(outcome: .refused(EAFNOSUPPORT)) }
            throw .unavailable("socket")
        }
        do {
            if isTransparent {
                // IPV6_TRANSPARENT of `linux/in6.h`, which clashes with glibc's header.
                let (level, name) = family == AF_INET ? (IPPROTO_IP, IP_TRANSPARENT) : (IPPROTO_IPV6, 75)
                try set(Int32(level), name, 1, "IP_TRANSPARENT")
            }
            try configure(query)
        } catch {
            close()
            throw error
        }
    }

    /// Calls setfsuid(2), which Glibc's module lacks, and returns the previous user; an invalid user changes nothing.
    private static func setFileSystemUser(_ user: uid_t) -> uid_t {
        guard let symbol = dlsym(nil, "setfsuid") else { return uid_t.max }
        let setfsuid = unsafeBitCast(symbol, to: (@convention(c) (uid_t) -> Int32).self)
        return uid_t(bitPattern: setfsuid(user))
    }

    func close() {
        _ = Glibc.close(descriptor)
    }

    private func configure(_ query: RouteQuery) throws(WitnessEnd) {
        if !isStream { try set(SOL_SOCKET, SO_BROADCAST, 1, "SO_BROADCAST") }
        if query.outputInterface != 0 {
            var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
            guard if_indextoname(query.outputInterface, &name) != nil,
                setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, name, socklen_t(strlen(name))) == 0
            else { throw .unavailable("SO_BINDTODEVICE") }
        }
        if query.mark != 0 { try set(SOL_SOCKET, SO_MARK, Int32(bitPattern: query.mark), "SO_MARK") }
        if query.typeOfService != 0 {
            let isIPv4 = query.destination.unmapped.family == .v4
            let (level, name) = isIPv4 ? (Int32(IPPROTO_IP), IP_TOS) : (Int32(IPPROTO_IPV6), IPV6_TCLASS)
            try set(level, name, Int32(query.typeOfService), "IP_TOS")
        }
        guard query.source != nil || query.sourcePort != nil else { return }
        let family = query.destination.unmapped.family
        let source = query.source?.unmapped ?? (family == .v4 ? .anyV4 : .anyV6)
        guard source.family == family else {
            throw WitnessEnd(outcome: .unavailable("the source is of the other family"))
        }
        guard !BroadcastAddresses.contains(source) else {
            throw WitnessEnd(outcome: .unavailable("a socket bound to \(source) sends from another address"))
        }
        let status = SocketAddress(source, port: query.sourcePort ?? 0, interface: query.outputInterface)
            .withPointer { bind(descriptor, $0, $1) }
        if status != 0 { throw WitnessEnd(outcome: .refused(errno)) }
    }

    private func set(_ level: Int32, _ name: Int32, _ value: Int32, _ label: String) throws(WitnessEnd) {
        var value = value
        let size = socklen_t(MemoryLayout<Int32>.size)
        guard setsockopt(descriptor, level, name, &value, size) == 0 else { throw .unavailable(label) }
    }

    func connect(_ query: RouteQuery) throws(WitnessEnd) -> SocketWitness.Outcome {
        let destination = query.destination.unmapped
        let status = SocketAddress(
            destination, port: query.destinationPort ?? 0, interface: query.outputInterface
        ).withPointer { Glibc.connect(descriptor, $0, $1) }
        // ECONNREFUSED is the answer of a host, so the packet was routed.
        guard status == 0 || (isStream && (errno == EINPROGRESS || errno == ECONNREFUSED)) else {
            return .refused(errno)
        }
        return .connects(source: localAddress(destination.family), mtu: mtu(destination.family))
    }

    /// Sends datagrams, and ignores the datagrams that the kernel refuses.
    func send(_ count: Int) {
        var byte: UInt8 = 0
        for _ in 0..<count { _ = Glibc.send(descriptor, &byte, 1, 0) }
    }

    /// The MTU of the route that the socket has selected, which is that of its interface.
    private func mtu(_ family: IPAddress.Family) -> Int32? {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        let (level, name) = family == .v4 ? (IPPROTO_IP, IP_MTU) : (IPPROTO_IPV6, IPV6_MTU)
        return getsockopt(descriptor, Int32(level), name, &value, &size) == 0 ? value : nil
    }

    private func localAddress(_ family: IPAddress.Family) -> IPAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &storage) { bytes -> IPAddress? in
            guard let start = bytes.baseAddress else { return nil }
            let status = getsockname(descriptor, start.assumingMemoryBound(to: sockaddr.self), &length)
            guard status == 0 else { return nil }
            let offset = family == .v4 ? 4 : 8
            return IPAddress(bytes: bytes[offset..<offset + family.byteCount])
        }
    }
}

/// A socket address of either family.
private struct SocketAddress {
    private var v4 = sockaddr_in()
    private var v6 = sockaddr_in6()
    private let family: IPAddress.Family

    init(_ address: IPAddress, port: UInt16, interface: UInt32) {
        family = address.family
        address.withNetworkBytes { bytes in
            switch address.family {
            case .v4:
                v4.sin_family = sa_family_t(AF_INET)
                v4.sin_port = port.bigEndian
                withUnsafeMutableBytes(of: &v4.sin_addr) { $0.copyMemory(from: bytes) }
            case .v6:
                v6.sin6_family = sa_family_t(AF_INET6)
                v6.sin6_port = port.bigEndian
                withUnsafeMutableBytes(of: &v6.sin6_addr) { $0.copyMemory(from: bytes) }
                if address.needsZone { v6.sin6_scope_id = address.zone?.interfaceIndex ?? interface }
            }
        }
    }

    func withPointer(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        func call<Address>(_ address: Address) -> Int32 {
            withUnsafeBytes(of: address) { bytes in
                guard let start = bytes.baseAddress else { return -1 }
                return body(start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
            }
        }
        return family == .v4 ? call(v4) : call(v6)
    }
}

/// The broadcast addresses of the networks of this host.
///
/// bind(2) accepts these addresses, but the socket sends from another address.
private enum BroadcastAddresses {
    static func contains(_ address: IPAddress) -> Bool {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard address.family == .v4, getifaddrs(&first) == 0 else { return false }
        defer { freeifaddrs(first) }
        for entry in sequence(first: first, next: { $0?.pointee.ifa_next }) {
            guard let entry, let own = number(entry.pointee.ifa_addr),
                let mask = number(entry.pointee.ifa_netmask)
            else { continue }
            if own | ~mask == UInt32(address.bits), own | ~mask != own { return true }
        }
        return false
    }

    private static func number(_ address: UnsafeMutablePointer<sockaddr>?) -> UInt32? {
        guard let address, Int32(address.pointee.sa_family) == AF_INET else { return nil }
        return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
            UInt32(bigEndian: $0.pointee.sin_addr.s_addr)
        }
    }
}

extension ZoneIdentifier {
    /// The index of the zone's interface, found by name and then by number; 0 for none.
    package var interfaceIndex: UInt32 {
        let named = if_nametoindex(description)
        return named != 0 ? named : index ?? 0
    }
}

extension RouteQuery {
    /// The answer about the packets of a socket that was connected without a source address.
    ///
    /// An IPv4 socket repeats the lookup with the selected source address (`ip_route_connect`). An IPv6 socket does so
    /// only if the first lookup is rejected (`ip6_dst_lookup_tail`).
    ///
    /// - Parameters:
    ///   - source: The address that the socket has selected.
    ///   - answer: Answers a query; `nil` if the answer must not be used.
    /// - Returns: The answer to the last lookup; `nil` if an answer must not be used.
    /// - Throws: The error of `answer`.
    package func lastAnswer(
        from source: IPAddress?, _ answer: (RouteQuery) throws(ReachabilityError) -> RouteAnswer?
    ) throws(ReachabilityError) -> RouteAnswer? {
        if destination.family == .v6 {
            guard let first = try answer(self) else { return nil }
            guard first.isRejected else { return first }
        }
        var second = self
        second.source = source
        return try answer(second)
    }
}
