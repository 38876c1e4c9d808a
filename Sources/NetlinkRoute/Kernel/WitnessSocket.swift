// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel

/// A throw-away UDP socket over IPv6, which shows what the kernel does for sockets and not for questions.
///
/// connect(2) on it looks up the route and selects the source address as every program does, and sends nothing.
enum WitnessSocket {
    /// What a socket showed.
    enum Outcome {
        /// The kernel has a route, and packets have this source address.
        case connects(from: IPAddress)
        /// The kernel refuses the destination, or the source address.
        case refused(RouteRejection)
    }

    /// SO_BINDTOIFINDEX of `asm-generic/socket.h`, from Linux 5.0.
    private static let bindToInterfaceIndex: Int32 = 62
    /// The errnos of a refusal; any other one says that the socket cannot be made.
    private static let refusals = [ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL, EADDRNOTAVAIL]

    /// Connects a socket as the question describes it; `nil` where a socket cannot be made so, as a mark needs a
    /// privilege and the user and the protocol cannot be set at all.
    static func connect(_ query: RouteQuery) -> Outcome? {
        guard query.destination.family == .v6, query.user.map({ $0 == geteuid() }) ?? true,
            query.ipProtocol.map({ $0 == UInt8(IPPROTO_UDP) }) ?? true,
            query.sourcePort == nil, query.typeOfService == 0
        else { return nil }
        let descriptor = socket(AF_INET6, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard set(descriptor, SO_MARK, query.mark),
            set(descriptor, bindToInterfaceIndex, query.outputInterface)
        else { return nil }
        let local = query.source.map { sockaddr_in6($0, port: 0, zone: query.outputInterface) }
        let remote = sockaddr_in6(
            query.destination, port: query.destinationPort ?? 0, zone: query.outputInterface)
        guard local?.isAccepted(by: { bind(descriptor, $0, $1) }) ?? true,
            remote.isAccepted(by: { Glibc.connect(descriptor, $0, $1) })
        else { return refusals.contains(errno) ? .refused(RouteRejection(rawValue: errno)) : nil }
        return localAddress(of: descriptor).map { .connects(from: $0) }
    }

    /// Sets an option of the socket; 0 is the default of both.
    private static func set(_ descriptor: Int32, _ option: Int32, _ value: UInt32) -> Bool {
        guard value != 0 else { return true }
        var value = value
        return setsockopt(descriptor, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<UInt32>.size)) == 0
    }

    private static func localAddress(of descriptor: Int32) -> IPAddress? {
        var local = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let status = withUnsafeMutablePointer(to: &local) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        guard status == 0, local.sin6_family == sa_family_t(AF_INET6) else { return nil }
        return IPAddress(family: UInt8(AF_INET6), fixedBytes: local.sin6_addr)
    }
}

extension sockaddr_in6 {
    /// An address with a port in host order; only an address that needs a zone has one.
    fileprivate init(_ address: IPAddress, port: UInt16, zone: UInt32) {
        self.init()
        sin6_family = sa_family_t(AF_INET6)
        sin6_port = port.bigEndian
        sin6_scope_id = address.needsZone ? zone : 0
        address.write(to: &sin6_addr)
    }

    /// Whether a system call accepts the address.
    fileprivate func isAccepted(by call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Bool {
        withUnsafePointer(to: self) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call($0, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
            }
        }
    }
}
