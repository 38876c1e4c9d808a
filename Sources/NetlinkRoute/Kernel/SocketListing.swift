// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// A connected TCP, UDP or MPTCP socket, as sock_diag describes it.
package struct ConnectedSocket: Equatable, Sendable {
    /// IPPROTO_MPTCP of Linux 5.6, which older headers lack.
    package static let mptcp: UInt16 = 262

    /// What decides where the packets of a socket go.
    ///
    /// Sockets of one flow have one status, and a socket is evaluated again when its flow changes. What the kernel
    /// counts and measures while a socket is open is a property of the socket beside it.
    package struct Flow: Hashable, Sendable {
        /// IPPROTO_TCP, IPPROTO_UDP or ``mptcp``.
        package let ipProtocol: UInt16
        /// An IPv4-mapped address is an IPv4 address here.
        ///
        /// A link-local one belongs to the interface that the socket is bound to.
        package let local, remote: IPAddress
        /// In host byte order.
        package var localPort, remotePort: UInt16
        /// The interface that the socket is bound to; 0 for none.
        package let boundInterface: UInt32
        /// SO_MARK; 0 also where the process has no CAP_NET_ADMIN, for which the kernel shows no marks.
        package let mark: UInt32
        /// The type of service or traffic class.
        package let typeOfService: UInt8
        package let user: UInt32
    }

    package let flow: Flow
    /// The inode, which `/proc/PID/fd` shows.
    ///
    /// The TCP sockets of an MPTCP connection have that of its MPTCP socket.
    package let inode: UInt32
    /// SO_COOKIE, which identifies the socket as long as the machine runs.
    package let cookie: UInt64

    /// Reads a message of the dump; `nil` for a message of another type, for another family than IPv4 and IPv6, and for
    /// an MPTCP socket that has fallen back to TCP.
    package init?(_ message: NetlinkMessage, _ ipProtocol: UInt16) throws(MalformedMessage) {
        let (body, attributes) = try message.parts(inet_diag_msg.self)
        let identity = body.id
        guard Int32(message.type) == SOCK_DIAG_BY_FAMILY,
            let local = IPAddress(family: body.idiag_family, fixedBytes: identity.idiag_src)?.unmapped,
            let remote = IPAddress(family: body.idiag_family, fixedBytes: identity.idiag_dst)?.unmapped
        else { return nil }
        if ipProtocol == Self.mptcp, let info = try attributes.value(INET_DIAG_INFO, as: MultipathInfo.self),
            info.flags & MultipathInfo.fallback != 0
        {
            return nil
        }
        let typeOfService = try attributes.value(INET_DIAG_TOS, as: UInt8.self)
        let trafficClass = try attributes.value(INET_DIAG_TCLASS, as: UInt8.self)
        flow = Flow(
            ipProtocol: ipProtocol,
            local: local,
            remote: remote,
            localPort: UInt16(bigEndian: identity.idiag_sport),
            remotePort: UInt16(bigEndian: identity.idiag_dport),
            boundInterface: identity.idiag_if,
            mark: try attributes.value(INET_DIAG_MARK) ?? 0,
            typeOfService: (local.family == .v4 ? typeOfService : trafficClass) ?? 0,
            user: body.idiag_uid
        )
        inode = body.idiag_inode
        cookie = UInt64(identity.idiag_cookie.1) << 32 | UInt64(identity.idiag_cookie.0)
    }
}

/// The beginning of `mptcp_info` of `linux/mptcp.h`.
private struct MultipathInfo: BitwiseCopyable {
    /// MPTCP_INFO_FLAG_FALLBACK: one end does not know MPTCP, and the connection is a TCP connection.
    static let fallback: UInt32 = 1

    /// The numbers of subflows and addresses, and their limits.
    let counts: (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8)
    /// `mptcpi_flags`, at the eighth byte.
    let flags: UInt32
}

extension ConnectedSocket {
    /// The states of sockets that have two ends and can still send, as bits.
    private static let states: UInt32 = [
        TCP_ESTABLISHED, TCP_SYN_SENT, TCP_FIN_WAIT1, TCP_FIN_WAIT2, TCP_CLOSE_WAIT, TCP_LAST_ACK,
        TCP_CLOSING,
    ].reduce(0) { $0 | 1 << UInt32($1) }

    /// INET_DIAG_REQ_PROTOCOL of `linux/inet_diag.h`, from Linux 5.9.
    private static let requestProtocol = 3

    /// Lists the connected sockets of the calling thread's network namespace, each once.
    ///
    /// - Parameters:
    ///   - family: The family of the sockets; IPv6 sockets can have IPv4 ends.
    ///   - ipProtocol: IPPROTO_TCP, IPPROTO_UDP or ``mptcp``. MPTCP connections that have fallen back to TCP are left
    ///     out: they are TCP connections.
    ///   - localPort: The only local port, in host byte order; 0 for all.
    ///   - take: Receives each socket while the kernel goes through its table.
    /// - Throws: An error if the kernel refuses the list: with ENOENT if it has no inet_diag for the protocol. A kernel
    ///   without the module mptcp_diag lists no MPTCP sockets instead.
    package static func list(
        _ family: IPAddress.Family,
        ipProtocol: UInt16,
        localPort: UInt16 = 0,
        _ take: (ConnectedSocket) -> Void
    ) throws(ReachabilityError) {
        try list(family, ipProtocol: ipProtocol, localPort: localPort, states: states, take)
    }

    /// Whether a UDP socket of the calling thread's network namespace that is connected to nothing has a local port,
    /// and takes IPv4 packets to any address.
    static func isUnconnectedUDP(_ localPort: UInt16) throws(ReachabilityError) -> Bool {
        var isFound = false
        try list(.v4, ipProtocol: UInt16(IPPROTO_UDP), localPort: localPort, states: 1 << UInt32(TCP_CLOSE)) {
            if $0.flow.local.isUnspecified { isFound = true }
        }
        return isFound
    }

    private static func list(
        _ family: IPAddress.Family,
        ipProtocol: UInt16,
        localPort: UInt16,
        states: UInt32,
        _ take: (ConnectedSocket) -> Void
    ) throws(ReachabilityError) {
        var body = inet_diag_req_v2()
        body.sdiag_family = family.rawValue
        // The number of MPTCP does not fit into the byte. A kernel that skips the attribute lists no sockets of
        // protocol 0.
        let isMultipath = ipProtocol == mptcp
        body.sdiag_protocol = isMultipath ? 0 : UInt8(ipProtocol)
        let attributes = [Request.Attribute(requestProtocol, UInt32(ipProtocol))]
        body.idiag_ext = 1 << UInt8(INET_DIAG_TOS - 1) | 1 << UInt8(INET_DIAG_TCLASS - 1)
        if isMultipath { body.idiag_ext |= 1 << UInt8(INET_DIAG_INFO - 1) }
        body.idiag_states = states
        body.id.idiag_sport = localPort.bigEndian
        body.id.idiag_cookie = (INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE)
        let request = Request(
            SOCK_DIAG_BY_FAMILY, isDump: true, body, isMultipath ? attributes : [])
        let name = isMultipath ? "MPTCP" : ipProtocol == UInt16(IPPROTO_TCP) ? "TCP" : "UDP"
        var socket = try QuerySocket(netlinkProtocol: NETLINK_SOCK_DIAG)
        // A dump that is interrupted is repeated.
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
}
