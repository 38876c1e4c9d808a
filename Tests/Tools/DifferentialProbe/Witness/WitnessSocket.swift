// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel

/// A socket that connects as a triple says.
///
/// connect(2) on a UDP socket selects route and source as every program does, and sends nothing. On a TCP socket
/// it sends a SYN, inside the namespace that the run made.
struct WitnessSocket: ~Copyable {
    private let descriptor: Int32

    private init(_ triple: Triple) throws(Refusal) {
        let family = triple.target.family == .v4 ? AF_INET : AF_INET6
        let type = Int32((triple.isTCP ? SOCK_STREAM : SOCK_DGRAM).rawValue)
        let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        // The owner of a socket is the user of the file system at that moment.
        if let user = triple.user { Namespace.setFileSystemUser(user) }
        descriptor = socket(family, type | flags, 0)
        if triple.user != nil { Namespace.setFileSystemUser(getuid()) }
        guard descriptor >= 0 else { throw Refusal(call: "socket", number: errno) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// The first call that refused.
    struct Refusal: Error, Hashable, CustomStringConvertible {
        let call: String
        let number: Int32

        var description: String { "\(call): \(String(cString: strerror(number)))" }
    }

    /// Binds and connects a socket.
    ///
    /// - Returns: The refusal, or `nil` where the socket sends.
    static func refusal(of triple: Triple) -> Refusal? {
        do throws(Refusal) {
            let socket = try WitnessSocket(triple)
            try socket.setOptions(triple)
            try socket.bind(triple)
            try socket.connect(triple)
            return nil
        } catch {
            return error
        }
    }

    private func setOptions(_ triple: Triple) throws(Refusal) {
        try set(SOL_SOCKET, SO_BROADCAST, 1)
        if triple.mark != 0 { try set(SOL_SOCKET, SO_MARK, Int32(bitPattern: triple.mark)) }
        if triple.typeOfService != 0 {
            let tos = Int32(triple.typeOfService)
            if triple.target.family == .v4 {
                try set(Int32(IPPROTO_IP), IP_TOS, tos)
            } else {
                try set(Int32(IPPROTO_IPV6), IPV6_TCLASS, tos)
            }
        }
        // A zone of an address that needs none is a binding to the interface.
        let device = triple.device ?? (triple.target.needsZone ? nil : triple.target.zone?.name)
        if let device {
            let status = device.withCString {
                setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, $0, socklen_t(device.utf8.count))
            }
            guard status == 0 else { throw Refusal(call: "SO_BINDTODEVICE", number: errno) }
        }
    }

    private func set(_ level: Int32, _ name: Int32, _ value: Int32) throws(Refusal) {
        var value = value
        let status = setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
        guard status == 0 else { throw Refusal(call: "setsockopt \(level) \(name)", number: errno) }
    }

    private func bind(_ triple: Triple) throws(Refusal) {
        guard triple.source != nil || triple.sourcePort != 0 else { return }
        let any: IPAddress = triple.target.family == .v4 ? .anyV4 : .anyV6
        let status = Self.withSocketAddress(triple.source ?? any, port: triple.sourcePort) {
            Glibc.bind(descriptor, $0, $1)
        }
        guard status == 0 else { throw Refusal(call: "bind", number: errno) }
    }

    private func connect(_ triple: Triple) throws(Refusal) {
        let status = Self.withSocketAddress(triple.target, port: triple.port == 0 ? 9 : triple.port) {
            Glibc.connect(descriptor, $0, $1)
        }
        // A TCP connection that is under way, or that the other end refused, has found its way.
        guard status == 0 || errno == EINPROGRESS || errno == ECONNREFUSED else {
            throw Refusal(call: "connect", number: errno)
        }
    }

    private static func withSocketAddress(
        _ address: IPAddress,
        port: UInt16,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var storage = sockaddr_storage()
        let size = withUnsafeMutableBytes(of: &storage) { bytes -> socklen_t in
            switch address.family {
            case .v4:
                var v4 = sockaddr_in()
                v4.sin_family = sa_family_t(AF_INET)
                v4.sin_port = port.bigEndian
                address.withNetworkBytes { v4.sin_addr.s_addr = $0.loadUnaligned(as: UInt32.self) }
                bytes.storeBytes(of: v4, as: sockaddr_in.self)
                return socklen_t(MemoryLayout<sockaddr_in>.size)
            case .v6:
                var v6 = sockaddr_in6()
                v6.sin6_family = sa_family_t(AF_INET6)
                v6.sin6_port = port.bigEndian
                address.withNetworkBytes { v6.sin6_addr = $0.loadUnaligned(as: in6_addr.self) }
                if address.needsZone { v6.sin6_scope_id = address.zone?.interfaceIndex ?? 0 }
                bytes.storeBytes(of: v6, as: sockaddr_in6.self)
                return socklen_t(MemoryLayout<sockaddr_in6>.size)
            }
        }
        return withUnsafePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
        }
    }
}

extension ZoneIdentifier {
    fileprivate var interfaceIndex: UInt32 { name.map { if_nametoindex($0) } ?? index ?? 0 }
}
