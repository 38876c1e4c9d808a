// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// A connected TCP or UDP socket, as sock_diag describes it.
package struct ConnectedSocket: Hashable, Sendable {
    /// IPPROTO_TCP or IPPROTO_UDP.
    package let ipProtocol: UInt8
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
    /// The inode, which `/proc/PID/fd` shows.
    package var inode: UInt32
    /// SO_COOKIE, which identifies the socket as long as the machine runs.
    package var cookie: UInt64

    /// Reads a message of the dump; `nil` for a message of another type, and for another family than IPv4 and IPv6.
    package init?(_ message: NetlinkMessage, _ ipProtocol: UInt8) throws(MalformedMessage) {
        let (body, attributes) = try message.parts(inet_diag_msg.self)
        let identity = body.id
        guard Int32(message.type) == SOCK_DIAG_BY_FAMILY,
            let local = IPAddress(family: body.idiag_family, fixedBytes: identity.idiag_src)?.unmapped,
            let remote = IPAddress(family: body.idiag_family, fixedBytes: identity.idiag_dst)?.unmapped
        else { return nil }
        self.ipProtocol = ipProtocol
        (self.local, self.remote) = (local, remote)
        (localPort, remotePort) = (
            UInt16(bigEndian: identity.idiag_sport), UInt16(bigEndian: identity.idiag_dport)
        )
        let typeOfService = try attributes.value(INET_DIAG_TOS, as: UInt8.self)
        let trafficClass = try attributes.value(INET_DIAG_TCLASS, as: UInt8.self)
        self.typeOfService = (local.family == .v4 ? typeOfService : trafficClass) ?? 0
        boundInterface = identity.idiag_if
        mark = try attributes.value(INET_DIAG_MARK) ?? 0
        user = body.idiag_uid
        inode = body.idiag_inode
        cookie = UInt64(identity.idiag_cookie.1) << 32 | UInt64(identity.idiag_cookie.0)
    }
}

extension ConnectedSocket {
    /// The states of sockets that have two ends and can still send, as bits.
    private static let states: UInt32 = [
        TCP_ESTABLISHED, TCP_SYN_SENT, TCP_FIN_WAIT1, TCP_FIN_WAIT2, TCP_CLOSE_WAIT, TCP_LAST_ACK,
        TCP_CLOSING,
    ].reduce(0) { $0 | 1 << UInt32($1) }

    /// Lists the connected sockets of the calling thread's network namespace, each once.
    ///
    /// - Parameters:
    ///   - family: The family of the sockets; IPv6 sockets can have IPv4 ends.
    ///   - ipProtocol: IPPROTO_TCP or IPPROTO_UDP.
    ///   - take: Receives each socket while the kernel goes through its table.
    /// - Throws: An error if the kernel refuses the list: with ENOENT if it has no inet_diag for the protocol.
    package static func list(
        _ family: IPAddress.Family,
        ipProtocol: UInt8,
        _ take: (ConnectedSocket) -> Void
    ) throws(ReachabilityError) {
        var body = inet_diag_req_v2()
        body.sdiag_family = family.rawValue
        body.sdiag_protocol = ipProtocol
        body.idiag_ext = 1 << UInt8(INET_DIAG_TOS - 1) | 1 << UInt8(INET_DIAG_TCLASS - 1)
        body.idiag_states = states
        body.id.idiag_cookie = (INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE)
        let request = Request(SOCK_DIAG_BY_FAMILY, isDump: true, body)
        let name = ipProtocol == UInt8(IPPROTO_TCP) ? "TCP" : "UDP"
        var socket = try QuerySocket(netlinkProtocol: NETLINK_SOCK_DIAG)
        // A dump that is interrupted is repeated.
        var seen: Set<UInt64> = []
        try socket.list(request, "list the \(name) sockets") { (message) throws(MalformedMessage) in
            guard let socket = try ConnectedSocket(message, ipProtocol), seen.insert(socket.cookie).inserted
            else { return }
            take(socket)
        }
    }
}
