// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel

/// A throw-away UDP socket, which shows what the kernel does for sockets and not for questions.
///
/// connect(2) on it looks up the route and selects the source address as every program does, and sends nothing.
enum WitnessSocket {
    /// SO_BINDTOIFINDEX of `asm-generic/socket.h`, from Linux 5.0.
    private static let bindToInterfaceIndex: Int32 = 62

    /// Connects a socket as the question describes it; `nil` where a socket cannot be made so, as a mark needs a
    /// privilege and another user and protocol cannot be set at all.
    ///
    /// A refusal is that of connect(2), or of bind(2) to the source address.
    static func connect(_ query: RouteQuery) -> ConnectOutcome? {
        guard query.user.map({ $0 == geteuid() }) ?? true,
            query.ipProtocol.map({ $0 == UInt8(IPPROTO_UDP) }) ?? true,
            query.sourcePort == nil, query.typeOfService == 0
        else { return nil }
        let family = query.destination.family == .v4 ? AF_INET : AF_INET6
        let descriptor = socket(family, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard set(descriptor, SO_BROADCAST, 1), set(descriptor, SO_MARK, query.mark),
            set(descriptor, bindToInterfaceIndex, query.outputInterface)
        else { return nil }
        let zone = query.outputInterface
        let isBound = query.source.map { source in
            SocketAddress(source, port: 0, zone: zone).isAccepted { bind(descriptor, $0, $1) }
        }
        let remote = SocketAddress(query.destination, port: query.destinationPort ?? 0, zone: zone)
        guard isBound ?? true, remote.isAccepted(by: { Glibc.connect(descriptor, $0, $1) }) else {
            return .refused(RouteRejection(rawValue: errno))
        }
        return SocketAddress(localOf: descriptor)?.address.map { .connects(from: $0) }
    }

    /// Sets an option of the socket; 0 is the default of all.
    private static func set(_ descriptor: Int32, _ option: Int32, _ value: UInt32) -> Bool {
        guard value != 0 else { return true }
        var value = value
        return setsockopt(descriptor, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<UInt32>.size)) == 0
    }
}

/// A socket address of either family.
private struct SocketAddress {
    private var storage = sockaddr_storage()
    private var size = socklen_t(MemoryLayout<sockaddr_storage>.size)

    /// An address with a port in host order; only an address that needs a zone has one.
    init(_ address: IPAddress, port: UInt16, zone: UInt32) {
        withUnsafeMutableBytes(of: &storage) { bytes in
            switch address.family {
            case .v4:
                var value = sockaddr_in()
                value.sin_family = sa_family_t(AF_INET)
                value.sin_port = port.bigEndian
                address.write(to: &value.sin_addr)
                bytes.storeBytes(of: value, as: sockaddr_in.self)
            case .v6:
                var value = sockaddr_in6()
                value.sin6_family = sa_family_t(AF_INET6)
                value.sin6_port = port.bigEndian
                value.sin6_scope_id = address.needsZone ? zone : 0
                address.write(to: &value.sin6_addr)
                bytes.storeBytes(of: value, as: sockaddr_in6.self)
            }
        }
        size = socklen_t(
            address.family == .v4 ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size)
    }

    /// The address that a socket is bound to.
    init?(localOf descriptor: Int32) {
        let status = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        guard status == 0 else { return nil }
    }

    /// The address without its port; `nil` for another family than IPv4 and IPv6.
    var address: IPAddress? {
        withUnsafeBytes(of: storage) { bytes in
            switch Int32(storage.ss_family) {
            case AF_INET:
                IPAddress(family: UInt8(AF_INET), fixedBytes: bytes.load(as: sockaddr_in.self).sin_addr)
            case AF_INET6:
                IPAddress(family: UInt8(AF_INET6), fixedBytes: bytes.load(as: sockaddr_in6.self).sin6_addr)
            default: nil
            }
        }
    }

    /// Whether a system call accepts the address.
    func isAccepted(by call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Bool {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, size) == 0 }
        }
    }
}
