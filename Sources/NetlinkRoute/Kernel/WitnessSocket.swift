// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel

/// A throw-away UDP socket that shows which source address the kernel selects.
///
/// connect(2) on it looks up the route as every program does, and sends nothing.
enum WitnessSocket {
    /// What a socket showed.
    struct Selection {
        /// The address; `nil` where the kernel refuses the destination from every address.
        var address: IPAddress?
    }

    /// SO_BINDTOIFINDEX of `asm-generic/socket.h`, from Linux 5.0.
    private static let bindToInterfaceIndex: Int32 = 62

    /// Connects a socket as the question describes it; `nil` where a socket cannot be made so, as a mark needs a
    /// privilege and the user and the protocol cannot be set at all.
    static func sourceAddress(for query: RouteQuery) -> Selection? {
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
        guard connect(descriptor, query) else {
            let refusals = [ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL, EADDRNOTAVAIL]
            return refusals.contains(errno) ? Selection() : nil
        }
        return localAddress(of: descriptor).map(Selection.init)
    }

    /// Sets an option of the socket; 0 is the default of both.
    private static func set(_ descriptor: Int32, _ option: Int32, _ value: UInt32) -> Bool {
        guard value != 0 else { return true }
        var value = value
        return setsockopt(descriptor, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<UInt32>.size)) == 0
    }

    private static func connect(_ descriptor: Int32, _ query: RouteQuery) -> Bool {
        var remote = sockaddr_in6()
        remote.sin6_family = sa_family_t(AF_INET6)
        remote.sin6_port = (query.destinationPort ?? 0).bigEndian
        remote.sin6_scope_id = query.destination.needsZone ? query.outputInterface : 0
        withUnsafeMutableBytes(of: &remote.sin6_addr) { bytes in
            bytes.storeBytes(of: query.destination.high.bigEndian, as: UInt64.self)
            bytes.storeBytes(of: query.destination.low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        return withUnsafePointer(to: remote) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                Glibc.connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
            }
        }
    }

    private static func localAddress(of descriptor: Int32) -> IPAddress? {
        var local = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let status = withUnsafeMutablePointer(to: &local) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        guard status == 0, local.sin6_family == sa_family_t(AF_INET6) else { return nil }
        return withUnsafeBytes(of: local.sin6_addr) { bytes in
            IPAddress(
                v6High: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }
}
