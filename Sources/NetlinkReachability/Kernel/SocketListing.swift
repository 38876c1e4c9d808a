// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel
internal import SystemSupport

extension ConnectedSocket {
    /// Reads a message of the dump; `nil` for another type of message, for another family than IPv4 and IPv6, and for
    /// an MPTCP socket that has fallen back to TCP.
    package init?(_ message: NetlinkMessage, _ ipProtocol: UInt16) throws(MalformedMessage) {
        let (body, attributes) = try message.parts(inet_diag_msg.self)
        let identity = body.id
        guard [SOCK_DIAG_BY_FAMILY, TCPDIAG_GETSOCK].contains(Int32(message.type)),
            let local = IPAddress(family: body.idiag_family, fixedBytes: identity.idiag_src)?.unmapped,
            let remote = IPAddress(family: body.idiag_family, fixedBytes: identity.idiag_dst)?.unmapped
        else { return nil }
        let info =
            ipProtocol == Self.mptcp ? try attributes.value(INET_DIAG_INFO, as: MultipathInfo.self) : nil
        if let info, info.flags & MultipathInfo.fallback != 0 { return nil }
        let subflow = try attributes.nested(INET_DIAG_ULP_INFO)?.nested(INET_ULP_INFO_MPTCP)
        let typeOfService = try attributes.value(INET_DIAG_TOS, as: UInt8.self)
        let trafficClass = try attributes.value(INET_DIAG_TCLASS, as: UInt8.self)
        let flow = Flow(
            ipProtocol: ipProtocol,
            local: local,
            remote: remote,
            localPort: UInt16(bigEndian: identity.idiag_sport),
            remotePort: UInt16(bigEndian: identity.idiag_dport),
            boundInterface: identity.idiag_if,
            mark: try attributes.value(INET_DIAG_MARK) ?? 0,
            typeOfService: (local.family == .v4 ? typeOfService : trafficClass) ?? 0,
            user: body.idiag_uid,
            isTransparent: try attributes.value(INET_DIAG_SOCKOPT, as: UInt16.self)
                .map { $0 & SocketOptions.transparent != 0 } ?? false
        )
        let token: UInt32 =
            if let info { info.token } else { try subflow?.value(MultipathInfo.localToken) ?? 0 }
        let progress = ipProtocol == UInt16(IPPROTO_TCP) ? attributes[INET_DIAG_INFO] : nil
        self.init(
            flow,
            inode: body.idiag_inode,
            token: token,
            cookie: UInt64(identity.idiag_cookie.1) << 32 | UInt64(identity.idiag_cookie.0),
            state: TCPState(rawValue: body.idiag_state),
            timer: TCPTimer(
                TCPTimer.Kind(rawValue: body.idiag_timer) ?? .none, expires: Int(body.idiag_expires)),
            progress: progress.flatMap(TCPProgress.init)
        )
    }
}

extension TCPProgress {
    /// Reads a `tcp_info`, which is longer in newer kernels; `nil` if it is shorter than in the oldest one.
    ///
    /// The offsets are written out because `linux/tcp.h` clashes with glibc.
    init?(_ info: UnsafeRawBufferPointer) {
        func number(_ offset: Int) -> Int? {
            guard info.count >= offset + 4 else { return nil }
            return Int(info.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        }
        guard let totalRetransmits = number(100), let timeout = number(8), let unacknowledged = number(24),
            let sent = number(44), let received = number(52), let acknowledged = number(56),
            let roundTrip = number(68)
        else { return nil }
        self.init()
        (retransmits, probes, backoff) = (Int(info[2]), Int(info[3]), Int(info[4]))
        (self.timeout, self.roundTrip) = (timeout / 1_000, roundTrip / 1_000)
        (self.unacknowledged, self.totalRetransmits) = (unacknowledged, totalRetransmits)
        (lastDataSent, lastDataReceived, lastAcknowledgement) = (sent, received, acknowledged)
        (segmentsReceived, unsent, sendWindow) = (number(140), number(144), number(228))
    }
}

/// INET_DIAG_SOCKOPT, a `struct inet_diag_sockopt` of bit fields, from Linux 5.9.
private enum SocketOptions {
    /// The mask of the sixth bit field.
    static let transparent: UInt16 = UInt16(littleEndian: 1 << 5)
}

/// The beginning of `mptcp_info` of `linux/mptcp.h`.
private struct MultipathInfo: BitwiseCopyable {
    /// MPTCP_INFO_FLAG_FALLBACK: one end does not support MPTCP, and the connection is a TCP connection.
    static let fallback: UInt32 = 1

    /// The numbers of subflows and addresses, and their limits.
    let counts: (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8)
    /// `mptcpi_flags`, at the eighth byte.
    let flags: UInt32
    let token: UInt32

    /// MPTCP_SUBFLOW_ATTR_TOKEN_LOC of `linux/mptcp.h`.
    static let localToken = 2
}

extension ConnectedSocket {
    /// The states of sockets that have a remote end and can still send, as bits.
    private static let states: UInt32 = [
        TCP_ESTABLISHED, TCP_SYN_SENT, TCP_FIN_WAIT1, TCP_FIN_WAIT2, TCP_CLOSE_WAIT, TCP_LAST_ACK,
        TCP_CLOSING,
    ].reduce(0) { $0 | 1 << UInt32($1) }

    /// INET_DIAG_REQ_PROTOCOL of `linux/inet_diag.h`, from Linux 5.9.
    private static let requestProtocol = 3

    /// Lists the connected sockets of the calling thread's network namespace, each once.
    ///
    /// - Parameters:
    ///   - family: The family of the sockets. IPv6 sockets can have IPv4 addresses.
    ///   - ipProtocol: IPPROTO_TCP, IPPROTO_UDP or ``mptcp``. MPTCP connections that have fallen back to TCP are
    ///     omitted, because they are TCP connections.
    ///   - localPort: The only local port to list, in host byte order; 0 for all.
    ///   - states: The states to list, as bits; `nil` for those of sockets that have a remote end and can still send.
    ///   - take: Receives each socket while the kernel walks its table.
    /// - Throws: An error if the kernel refuses the list; with ENOENT if it has no inet_diag for the protocol.
    ///   Without the module mptcp_diag, the kernel lists no MPTCP sockets instead.
    package static func list(
        _ family: IPAddress.Family,
        ipProtocol: UInt16,
        localPort: UInt16 = 0,
        states: UInt32? = nil,
        _ take: (ConnectedSocket) -> Void
    ) throws(ReachabilityError) {
        var body = inet_diag_req_v2()
        body.sdiag_family = family.rawValue
        // The number of MPTCP does not fit into the byte. A kernel that ignores the attribute lists no sockets,
        // because it looks for protocol 0.
        let isMultipath = ipProtocol == mptcp
        body.sdiag_protocol = isMultipath ? 0 : UInt8(ipProtocol)
        let attributes = [Request.Attribute(requestProtocol, UInt32(ipProtocol))]
        body.idiag_ext = 1 << UInt8(INET_DIAG_TOS - 1) | 1 << UInt8(INET_DIAG_TCLASS - 1)
        if ipProtocol != UInt16(IPPROTO_UDP) { body.idiag_ext |= 1 << UInt8(INET_DIAG_INFO - 1) }
        body.idiag_states = states ?? Self.states
        body.id.idiag_sport = localPort.bigEndian
        body.id.idiag_cookie = (INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE)
        let request = Request(
            SOCK_DIAG_BY_FAMILY, isDump: true, body, isMultipath ? attributes : [])
        let name = isMultipath ? "MPTCP" : ipProtocol == UInt16(IPPROTO_TCP) ? "TCP" : "UDP"
        var socket = try QuerySocket(netlinkProtocol: NETLINK_SOCK_DIAG)
        // A repeated dump can list a socket again.
        var seen: Set<UInt64> = []
        do throws(ReachabilityError) {
            try socket.list(request, "list the \(name) sockets", from: ()) {
                (_, message) throws(MalformedMessage) in
                guard let socket = try ConnectedSocket(message, ipProtocol),
                    seen.insert(socket.cookie).inserted
                else { return }
                take(socket)
            }
        } catch  where isMultipath && [ENOENT, EINVAL].contains(error.number) {
            // Linux before 5.9 can also answer EINVAL.
        }
    }

    /// Whether an unconnected UDP socket in the calling thread's network namespace has a local port and accepts IPv4
    /// packets to any address.
    static func isUnconnectedUDP(_ localPort: UInt16) throws(ReachabilityError) -> Bool {
        var isFound = false
        try list(.v4, ipProtocol: UInt16(IPPROTO_UDP), localPort: localPort, states: 1 << UInt32(TCP_CLOSE)) {
            if $0.flow.local.isUnspecified { isFound = true }
        }
        return isFound
    }

    /// Lists the TCP connections of the calling thread's network namespace in all states except LISTEN, without
    /// repetitions.
    ///
    /// The older request (TCPDIAG_GETSOCK) dumps both families at once.
    static func connections() throws(ReachabilityError) -> [ConnectedSocket] {
        var body = inet_diag_req()
        body.idiag_ext = 1 << UInt8(INET_DIAG_INFO - 1)
        body.idiag_states = 0xFFF & ~(1 << UInt32(TCP_LISTEN))
        let request = Request(TCPDIAG_GETSOCK, isDump: true, body)
        var socket = try QuerySocket(netlinkProtocol: NETLINK_SOCK_DIAG)
        return try socket.list(request, "list the TCP connections", from: []) {
            (found: inout [ConnectedSocket], message) throws(MalformedMessage) in
            if let socket = try ConnectedSocket(message, UInt16(IPPROTO_TCP)) { found.append(socket) }
        }
    }
}

extension NeighbourReply {
    /// Reads RTM_NEWNEIGH; `nil` for another kind of entry, and for a neighbour that needs no resolution (NOARP).
    static func read(
        _ message: NetlinkMessage
    ) throws(MalformedMessage) -> (key: Neighbour.Key, value: NeighbourReply)? {
        guard let neighbour = try Neighbour(message), neighbour.state != .noARP else { return nil }
        let (_, attributes) = try message.parts(ndmsg.self)
        // The times are in ticks of USER_HZ, which is 100.
        let times = try attributes.value(NDA_CACHEINFO, as: nda_cacheinfo.self)
        let reply = NeighbourReply(
            neighbour.state,
            confirmed: times.map { Int($0.ndm_confirmed) * 10 },
            probes: Int(try attributes.value(NDA_PROBES, as: UInt32.self) ?? 0)
        )
        return (neighbour.key, reply)
    }
}

/// The TCP sockets that the kernel destroys (SKNLGRP_INET_TCP_DESTROY and SKNLGRP_INET6_TCP_DESTROY), which every
/// process can read.
final class KernelClosings: ClosingFeed {
    private let socket: Locked<EventSocket>
    let descriptor: Int32

    /// Opens a socket in the calling thread's network namespace; `nil` if the kernel or a sandbox refuses it.
    init?() {
        guard let socket = try? EventSocket(netlinkProtocol: NETLINK_SOCK_DIAG) else { return nil }
        for group in EventGroup.closings {
            guard (try? socket.join(group)) == true else { return nil }
        }
        _ = try? socket.setBuffer(bytes: 1 << 20)
        descriptor = socket.descriptor
        self.socket = Locked(socket)
    }

    func read(limit: Int) -> [ConnectedSocket] {
        socket.withLock { socket in
            var found: [ConnectedSocket] = []
            // The evidence lacks sockets whose notifications were lost. The next dump lists the sockets that are
            // still open.
            while found.count < limit {
                let reading = try? socket.receive { message in
                    if let closed = try? ConnectedSocket(message, UInt16(IPPROTO_TCP)) {
                        found.append(closed)
                    }
                }
                guard let reading, reading != .empty else { break }
            }
            return found
        }
    }
}
