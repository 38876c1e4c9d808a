// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel

/// SO_BINDTOIFINDEX of `asm-generic/socket.h`, from Linux 5.0.
let bindToInterfaceIndex: Int32 = 62

/// A UDP socket that shows the result of connect(2), if RTM_GETROUTE would answer differently.
///
/// connect(2) looks up the route and selects the source address as for any program, and sends no packet.
struct ProbeSocket: ~Copyable {
    private let descriptor: Int32
    /// The user of the process when the socket was opened.
    ///
    /// The kernel routes the socket's packets as packets of that user.
    private let user = geteuid()

    /// Opens a socket in the calling thread's network namespace; `nil` if that is not possible.
    init?(_ family: IPAddress.Family) {
        let domain = family == .v4 ? AF_INET : AF_INET6
        descriptor = socket(domain, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0, set(SO_BROADCAST, 1) else { return nil }
    }

    deinit {
        close(descriptor)
    }

    /// Whether the process still has the user that it had when the socket was opened.
    var isCurrent: Bool { user == geteuid() }

    /// Connects the socket with the properties of a query; `nil` if it cannot have them: a mark requires a privilege,
    /// and another user or protocol cannot be set.
    ///
    /// A refusal comes from connect(2), or from bind(2) to the source address.
    func connect(_ query: RouteQuery) -> ConnectOutcome? {
        guard query.user.map({ $0 == user }) ?? true,
            query.ipProtocol.map({ $0 == UInt8(IPPROTO_UDP) }) ?? true,
            query.sourcePort == nil, query.typeOfService == 0,
            set(SO_MARK, query.mark), set(bindToInterfaceIndex, query.outputInterface)
        else { return nil }
        let zone = query.outputInterface
        let isBound = query.source.map { source in
            source.isAccepted(zone: zone) { bind(descriptor, $0, $1) }
        }
        let port = query.destinationPort ?? 0
        guard isBound ?? true,
            query.destination.isAccepted(
                port: port, zone: zone, by: { Glibc.connect(descriptor, $0, $1) })
        else {
            return .refused(RouteRejection(rawValue: errno))
        }
        return IPAddress(localOf: descriptor).map { .connects(from: $0) }
    }

    /// Disconnects the socket.
    ///
    /// - Parameter query: The query that the socket was connected for.
    /// - Returns: Whether the socket is as it was before. After a mark or a binding, it is not.
    func disconnect(after query: RouteQuery) -> Bool {
        guard query.mark == 0, query.outputInterface == 0, query.source == nil else { return false }
        var unspecified = sockaddr()
        unspecified.sa_family = sa_family_t(AF_UNSPEC)
        return Glibc.connect(descriptor, &unspecified, socklen_t(MemoryLayout<sockaddr>.size)) == 0
    }

    /// Sets an option of the socket.
    ///
    /// 0 is the default of every option here.
    private func set(_ option: Int32, _ value: UInt32) -> Bool {
        guard value != 0 else { return true }
        var value = value
        return setsockopt(descriptor, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<UInt32>.size)) == 0
    }
}

extension IPAddress {
    /// Whether a system call accepts the address, with a port in host order and, if it needs one, a zone.
    fileprivate func isAccepted(
        port: UInt16 = 0,
        zone: UInt32,
        by call: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Bool {
        withSockaddr(port: port, scope: needsZone ? zone : 0) { call($0, $1) == 0 }
    }

    /// The local address of a socket; `nil` if it has none.
    fileprivate init?(localOf descriptor: Int32) {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        guard status == 0 else { return nil }
        guard let address = withUnsafeBytes(of: storage, { IPAddress(sockaddr: $0) }) else { return nil }
        self = address.withoutZone
    }
}
