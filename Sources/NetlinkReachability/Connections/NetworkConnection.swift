// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel

/// The parts of a connected socket that decide its route: both endpoints, and options such as mark, interface and user.
///
/// ```swift
/// let connection = try NetworkConnection(fileDescriptor: descriptor)
/// let status = try await NetworkSource.kernel.value(of: .status(of: connection))
/// if status.state == .lost { reconnect() }
/// ```
///
/// It is a value: it does not keep the descriptor, and the socket can be closed.
///
/// Apple's counterpart is an established `NWConnection`, which owns its socket.
public struct NetworkConnection: Hashable, Sendable {
    /// The protocol of a connection.
    public enum TransportProtocol: String, Hashable, Sendable, CaseIterable, Codable {
        /// TCP, and MPTCP, whose subflows are TCP connections.
        case tcp
        /// UDP.
        case udp
    }

    /// The local address.
    ///
    /// An IPv4-mapped address is converted to IPv4.
    public let local: IPAddress
    /// The local port, in host byte order.
    public let localPort: UInt16
    /// The protocol.
    public let transport: TransportProtocol
    private let typeOfService: UInt8
    /// The remote address.
    ///
    /// An IPv4-mapped address is converted to IPv4.
    public let remote: IPAddress
    /// The remote port, in host byte order.
    public let remotePort: UInt16
    // The options in compact form: a program can observe a hundred thousand connections.
    private let mark: UInt32
    private let user: UInt32?
    /// The index of the interface that the socket is bound to, 0 for none; `nil` if ``options`` and the zones of the
    /// addresses name the interface.
    ///
    /// A socket is bound to an index. It stays bound when the interface is renamed. It is lost when the interface is
    /// deleted, even if another interface gets the name. The kernel's counterpart is SO_BINDTOIFINDEX.
    public let interfaceIndex: UInt32?

    private let interface: InterfaceReference?
    /// Whether the socket can have an address that does not belong to this host, as a proxy's socket can
    /// (IP_TRANSPARENT, IPV6_TRANSPARENT).
    ///
    /// Such a connection is not lost because of its address. It has no better path, because a new connection has the
    /// same address.
    public var isTransparent = false

    /// The socket: its interface, mark, user and type of service.
    ///
    /// The protocol and the ports are those of the connection. No name has to be resolved.
    public var options: ReachabilityOptions {
        var options = ReachabilityOptions()
        options.interface = interface
        options.mark = mark
        options.user = user
        options.ipProtocol = transport == .tcp ? .tcp : .udp
        options.sourcePort = localPort
        options.destinationPort = remotePort
        options.typeOfService = typeOfService
        return options
    }

    /// The subflows of an MPTCP connection, which are TCP connections; empty for other connections.
    ///
    /// The subflows decide the state of the connection: see ``ConnectionStatus/subflows``. The connection's own
    /// addresses and ports are those of its first subflow. That subflow can end while the connection continues over
    /// others. The property has the subflows of one moment.
    package(set) public var subflows: [NetworkConnection] = []

    /// Describes a connection by its addresses and ports.
    ///
    /// - Parameters:
    ///   - transport: The protocol.
    ///   - local: The local address; 0.0.0.0 or :: for a UDP socket that was connected while the host had no
    ///     address.
    ///   - localPort: The local port, in host byte order.
    ///   - remote: The remote address.
    ///   - remotePort: The remote port, in host byte order.
    ///   - options: The socket: its interface, mark, user and type of service.
    ///   - interfaceIndex: The index of the interface that the socket is bound to, 0 for none; `nil` to use the
    ///     interface of the options or of a zone, whose name is looked up with each evaluation.
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.invalidAddress` if one address is IPv4
    ///   and the other IPv6, or if the remote address is 0.0.0.0 or ::.
    public init(
        transport: TransportProtocol,
        local: IPAddress,
        localPort: UInt16,
        remote: IPAddress,
        remotePort: UInt16,
        options: ReachabilityOptions = ReachabilityOptions(),
        interfaceIndex: UInt32? = nil
    ) throws(ReachabilityError) {
        let (own, other) = (local.unmapped, remote.unmapped)
        guard own.family == other.family, !other.isUnspecified else {
            throw ReachabilityError(
                .invalidAddress,
                operation: "describe a connection",
                message: "\(local) and \(remote) are not the ends of a connection: "
                    + "give two addresses of one family, and a remote one other than 0.0.0.0 and ::"
            )
        }
        self.transport = transport
        self.interfaceIndex = interfaceIndex
        (self.local, self.localPort) = (own, localPort)
        (self.remote, self.remotePort) = (other, remotePort)
        (interface, mark, user) = (options.interface, options.mark, options.user)
        typeOfService = options.typeOfService
    }

    /// Reads a connected socket: its addresses, ports, protocol, interface, mark, type of service and user.
    ///
    /// A TCP socket is connected once its handshake is complete, a UDP socket after connect(2).
    ///
    /// An MPTCP socket has ``subflows`` from Linux 5.16 on. They have the options of the socket, and the interfaces
    /// that the path manager has bound them to. On older kernels, only the addresses of the first subflow are known.
    /// A socket that has fallen back to TCP is a TCP socket.
    ///
    /// - Parameter fileDescriptor: The socket, which is neither changed nor kept.
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.unsupportedFamily` for a socket that is
    ///   neither IPv4 nor IPv6, or neither TCP nor UDP; `ReachabilityError.Code.systemFailure` with ENOTCONN for a
    ///   socket that is not connected, or whose last subflow has ended; with EBADF or ENOTSOCK for a descriptor that
    ///   is not a socket.
    public init(fileDescriptor: Int32) throws(ReachabilityError) {
        let socket = SocketReader(descriptor: fileDescriptor)
        let local = try socket.end("getsockname", getsockname)
        let remote = try socket.end("getpeername", getpeername)
        var options = ReachabilityOptions()
        options.mark = UInt32(bitPattern: try socket.option(SOL_SOCKET, SO_MARK))
        options.user = try socket.user()
        let typeOfService =
            local.address.family == .v4 || local.isMapped
            ? try socket.option(Int32(IPPROTO_IP), IP_TOS)
            : try socket.option(Int32(IPPROTO_IPV6), IPV6_TCLASS)
        options.typeOfService = UInt8(truncatingIfNeeded: typeOfService)
        try self.init(
            transport: socket.transport(),
            local: local.address,
            localPort: local.port,
            remote: remote.address,
            remotePort: remote.port,
            options: options,
            interfaceIndex: try socket.interfaceIndex()
        )
        isTransparent = try socket.isTransparent(local.address.family == .v4 || local.isMapped ? .v4 : .v6)
        guard let ends = try socket.subflows() else { return }
        // A subflow that begins or ends can have no address, and is skipped.
        subflows = ends.compactMap { ends in
            try? NetworkConnection(
                transport: .tcp,
                local: ends.local.address,
                localPort: ends.local.port,
                remote: ends.remote.address,
                remotePort: ends.remote.port,
                options: options,
                interfaceIndex: Self.boundInterface(ofSubflow: ends) ?? interfaceIndex
            )
        }
        guard !subflows.isEmpty else { throw socket.failure("getsockopt", ENOTCONN) }
    }
}

extension NetworkConnection {
    /// The interface that a subflow is bound to, 0 for none; `nil` if sock_diag does not have the subflow.
    ///
    /// The path manager binds a subflow to the interface of its endpoint. The descriptor does not show that
    /// interface.
    private static func boundInterface(ofSubflow ends: SocketReader.Ends) -> UInt32? {
        let (local, remote) = (ends.local, ends.remote)
        // An IPv6 socket can have IPv4 addresses, which are IPv4-mapped.
        let family: IPAddress.Family = local.isMapped ? .v6 : local.address.family
        var found: UInt32?
        try? ConnectedSocket.list(family, ipProtocol: UInt16(IPPROTO_TCP), localPort: local.port) { socket in
            let flow = socket.flow
            if flow.local == local.address.withoutZone, flow.remote == remote.address.withoutZone,
                flow.remotePort == remote.port
            {
                found = flow.boundInterface
            }
        }
        return found
    }
}

extension NetworkConnection: CustomStringConvertible {
    /// The protocol, addresses and ports, such as `tcp 192.0.2.2:40000 -> 198.51.100.1:443`.
    public var description: String {
        "\(transport) \(Self.end(local, localPort)) -> \(Self.end(remote, remotePort))"
    }

    /// An address and port, such as `192.0.2.2:40000` or `[2001:db8::2]:40000`.
    package static func end(_ address: IPAddress, _ port: UInt16) -> String {
        address.family == .v4 ? "\(address):\(port)" : "[\(address)]:\(port)"
    }
}

// MARK: - Sockets

/// Reads the properties of a socket.
private struct SocketReader {
    typealias End = (address: IPAddress, port: UInt16, isMapped: Bool)
    typealias Ends = (local: End, remote: End)
    typealias NameCall = (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32

    let descriptor: Int32

    func end(_ name: String, _ call: NameCall) throws(ReachabilityError) -> End {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(descriptor, $0, &length) }
        }
        guard status == 0 else { throw failure(name) }
        return try end(storage)
    }

    private func end(_ storage: sockaddr_storage) throws(ReachabilityError) -> End {
        let (address, port) = withUnsafeBytes(of: storage) { bytes in
            (IPAddress(sockaddr: bytes), bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        }
        guard let address else { throw unsupported("address family", Int32(storage.ss_family)) }
        return (address.unmapped, UInt16(bigEndian: port), address != address.unmapped)
    }

    /// The addresses and ports of each subflow of an MPTCP socket, at most 64; `nil` for other sockets, for a socket
    /// that has fallen back to TCP, and before Linux 5.16.
    func subflows() throws(ReachabilityError) -> [Ends]? {
        guard try option(SOL_SOCKET, SO_PROTOCOL) == Int32(ConnectedSocket.mptcp) else { return nil }
        // SOL_MPTCP and MPTCP_SUBFLOW_ADDRS of `linux/mptcp.h`.
        let (level, name): (Int32, Int32) = (284, 3)
        // A `mptcp_subflow_data`: its size, the number of subflows, and the sizes of an element in the kernel and
        // here. Then the elements: the addresses of both ends.
        let (headerSize, addressSize) = (16, MemoryLayout<sockaddr_storage>.size)
        let header = [UInt32(headerSize), 0, 0, UInt32(2 * addressSize)]
        var buffer = header.withUnsafeBytes(Array.init) + [UInt8](repeating: 0, count: 64 * 2 * addressSize)
        var length = socklen_t(buffer.count)
        guard getsockopt(descriptor, level, name, &buffer, &length) == 0 else { return nil }
        var ends: [Ends] = []
        for offset in stride(from: headerSize, through: Int(length) - 2 * addressSize, by: 2 * addressSize) {
            let (local, remote) = buffer.withUnsafeBytes {
                $0.loadUnaligned(fromByteOffset: offset, as: (sockaddr_storage, sockaddr_storage).self)
            }
            ends.append((try end(local), try end(remote)))
        }
        return ends
    }

    func transport() throws(ReachabilityError) -> NetworkConnection.TransportProtocol {
        switch try option(SOL_SOCKET, SO_PROTOCOL) {
        case Int32(IPPROTO_TCP), Int32(ConnectedSocket.mptcp): return .tcp
        case Int32(IPPROTO_UDP): return .udp
        case let other: throw unsupported("protocol", other)
        }
    }

    private func unsupported(_ property: String, _ number: Int32) -> ReachabilityError {
        ReachabilityError(
            .unsupportedFamily,
            operation: "read a socket",
            message: "the socket's \(property) is \(number): give a TCP or UDP socket"
        )
    }

    /// The index of the interface that the socket is bound to, which can have been removed; 0 for none.
    func interfaceIndex() throws(ReachabilityError) -> UInt32 {
        do {
            return UInt32(bitPattern: try option(SOL_SOCKET, bindToInterfaceIndex))
        } catch {
            guard error.number == ENOPROTOOPT else { throw error }
            return try indexOfNamedInterface()
        }
    }

    /// The same on older kernels, which show only the name.
    ///
    /// If the interface was removed, an index that no interface has.
    private func indexOfNamedInterface() throws(ReachabilityError) -> UInt32 {
        var name = [CChar](repeating: 0, count: Int(IFNAMSIZ))
        var length = socklen_t(name.count)
        guard getsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, &name, &length) == 0 else {
            if errno == ENODEV { return .max }
            throw failure("getsockopt")
        }
        guard length > 0, name[0] != 0 else { return 0 }
        let index = if_nametoindex(name)
        return index == 0 ? .max : index
    }

    func isTransparent(_ family: IPAddress.Family) throws(ReachabilityError) -> Bool {
        // IPV6_TRANSPARENT of `linux/in6.h`, which clashes with glibc's header.
        let (level, name) = family == .v4 ? (IPPROTO_IP, IP_TRANSPARENT) : (IPPROTO_IPV6, 75)
        return try option(Int32(level), name) != 0
    }

    func user() throws(ReachabilityError) -> UInt32 {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("fstat") }
        return status.st_uid
    }

    func option(_ level: Int32, _ name: Int32) throws(ReachabilityError) -> Int32 {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, level, name, &value, &length) == 0 else { throw failure("getsockopt") }
        return value
    }

    func failure(_ call: String, _ number: Int32 = errno) -> ReachabilityError {
        ReachabilityError(
            in: .systemCall,
            operation: "read a socket with \(call)",
            number: number,
            message: number == ENOTCONN ? "the socket is not connected, or not any more" : ""
        )
    }
}
