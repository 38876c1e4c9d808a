// SPDX-License-Identifier: Apache-2.0

/// A connected TCP, UDP or MPTCP socket, as sock_diag describes it.
package struct ConnectedSocket: Hashable, Sendable {
    /// IPPROTO_MPTCP of Linux 5.6, which older headers lack.
    package static let mptcp: UInt16 = 262

    /// The properties of a socket that decide the route of its packets.
    ///
    /// Sockets with the same flow have the same status, and a socket is evaluated again when its flow changes.
    /// Counters and measurements of the kernel are not part of the flow.
    package struct Flow: Hashable, Sendable {
        /// IPPROTO_TCP, IPPROTO_UDP or ``mptcp``.
        package let ipProtocol: UInt16
        /// The addresses of both ends.
        ///
        /// IPv4-mapped addresses are converted to IPv4.
        ///
        /// A link-local address belongs to the interface that the socket is bound to.
        package let local, remote: IPAddress
        /// The ports of both ends, in host byte order.
        package var localPort, remotePort: UInt16
        /// The interface that the socket is bound to; 0 for none.
        package let boundInterface: UInt32
        /// SO_MARK.
        ///
        /// It is 0 in a process without CAP_NET_ADMIN, to which the kernel shows no marks.
        package let mark: UInt32
        /// The type of service or traffic class.
        package let typeOfService: UInt8
        package let user: UInt32
        /// IP_TRANSPARENT: the local address may not belong to this host.
        package let isTransparent: Bool

        /// Creates a flow.
        package init(
            ipProtocol: UInt16,
            local: IPAddress,
            remote: IPAddress,
            localPort: UInt16,
            remotePort: UInt16,
            boundInterface: UInt32 = 0,
            mark: UInt32 = 0,
            typeOfService: UInt8 = 0,
            user: UInt32 = 0,
            isTransparent: Bool = false
        ) {
            self.ipProtocol = ipProtocol
            (self.local, self.remote) = (local, remote)
            (self.localPort, self.remotePort) = (localPort, remotePort)
            (self.boundInterface, self.mark) = (boundInterface, mark)
            (self.typeOfService, self.user, self.isTransparent) = (typeOfService, user, isTransparent)
        }
    }

    package let flow: Flow
    /// The inode, which `/proc/PID/fd` shows.
    ///
    /// The TCP sockets of an MPTCP connection have the inode of its MPTCP socket, even after that is closed.
    package let inode: UInt32
    /// The number that an MPTCP socket and its TCP sockets share; 0 for other sockets, and if the kernel does not
    /// report it.
    package let token: UInt32
    /// SO_COOKIE, which identifies the socket while the machine runs.
    package let cookie: UInt64
    /// The state of the connection.
    package var state: TCPState
    /// The running timer.
    package var timer: TCPTimer
    /// The kernel's counters and measurements of a TCP connection; `nil` if they were not requested, and for a
    /// connection without a socket (TIME_WAIT).
    package var progress: TCPProgress?

    /// Creates the description of a socket.
    package init(
        _ flow: Flow,
        inode: UInt32 = 0,
        token: UInt32 = 0,
        cookie: UInt64,
        state: TCPState = .established,
        timer: TCPTimer = TCPTimer(),
        progress: TCPProgress? = nil
    ) {
        (self.flow, self.inode, self.token, self.cookie) = (flow, inode, token, cookie)
        (self.state, self.timer, self.progress) = (state, timer, progress)
    }
}

/// The state of a TCP connection: TCP_ESTABLISHED and so on of `net/tcp_states.h`.
package struct TCPState: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let established = TCPState(rawValue: 1)
    package static let synSent = TCPState(rawValue: 2)
    package static let timeWait = TCPState(rawValue: 6)
    package static let closed = TCPState(rawValue: 7)
}

/// The timer of a TCP connection: `idiag_timer` and `idiag_expires`.
package struct TCPTimer: Hashable, Sendable {
    /// The action when the timer expires.
    package enum Kind: UInt8, Sendable {
        case none = 0
        /// The oldest data, or the SYN, is sent again.
        case retransmission = 1
        /// A keepalive probe is sent.
        case keepalive = 2
        /// A connection without a socket is removed.
        case timeWait = 3
        /// The peer's window is probed, or this host tries again to send data.
        case window = 4
    }

    package var kind: Kind
    /// The time until the timer expires, in milliseconds.
    package var expires: Int

    package init(_ kind: Kind = .none, expires: Int = 0) {
        (self.kind, self.expires) = (kind, expires)
    }
}

/// The kernel's counters and measurements of a TCP connection.
///
/// Times and ages are in milliseconds. The kernel's counterpart is `tcp_info`.
package struct TCPProgress: Hashable, Sendable {
    /// How often the oldest data was retransmitted.
    package var retransmits = 0
    /// The number of unanswered keepalive or window probes.
    package var probes = 0
    /// How often the timeout was doubled.
    package var backoff = 0
    /// The retransmission timeout.
    package var timeout = 0
    /// The number of unacknowledged segments.
    package var unacknowledged = 0
    /// The age of the last sent data.
    package var lastDataSent = 0
    /// The age of the last received data.
    package var lastDataReceived = 0
    /// The age of the last received acknowledgement.
    package var lastAcknowledgement = 0
    /// The round-trip time.
    package var roundTrip = 0
    /// The number of all retransmissions that left this host's TCP.
    package var totalRetransmits = 0
    /// The number of received segments, from Linux 4.2.
    package var segmentsReceived: Int?
    /// The number of bytes that wait to be sent, from Linux 4.6.
    package var unsent: Int?
    /// The peer's window in bytes, from Linux 5.4.
    package var sendWindow: Int?

    package init() {}
}

/// The state of a neighbour, and the kernel's record of its answers.
package struct NeighbourReply: Hashable, Sendable {
    package var state: NeighbourState
    /// The milliseconds since the last confirmation; `nil` if the kernel does not report it.
    package var confirmed: Int?
    /// The requests since the last answer (NDA_PROBES).
    ///
    /// For a new neighbour, the kernel's count begins at 3.
    package var probes: Int

    package init(_ state: NeighbourState, confirmed: Int? = nil, probes: Int = 0) {
        (self.state, self.confirmed, self.probes) = (state, confirmed, probes)
    }
}

/// What shows at one moment whether anything has answered.
package enum AnswerRecord: Sendable {
    /// The TCP connections of the host in all states but LISTEN, and its neighbours.
    case kernel([ConnectedSocket], [Neighbour.Key: NeighbourReply])
    /// The evidence of a recording about its default path.
    case recorded(NetworkEvidence)
}
