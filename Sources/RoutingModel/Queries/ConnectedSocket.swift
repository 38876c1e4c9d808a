// SPDX-License-Identifier: Apache-2.0

/// A connected TCP, UDP or MPTCP socket, as sock_diag describes it.
package struct ConnectedSocket: Hashable, Sendable {
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
        /// IP_TRANSPARENT: the local address can be none of the host's.
        package let isTransparent: Bool

        /// Describes a flow.
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
    /// The TCP sockets of an MPTCP connection have that of its MPTCP socket, and keep it when that is closed.
    package let inode: UInt32
    /// What an MPTCP socket and its TCP sockets have in common; 0 for other sockets, and where the kernel does not say.
    package let token: UInt32
    /// SO_COOKIE, which identifies the socket as long as the machine runs.
    package let cookie: UInt64
    /// The state of the connection.
    package var state: TCPState
    /// The timer that runs.
    package var timer: TCPTimer
    /// What the kernel counts and measures of a TCP connection; `nil` where it was not asked for, and for a connection
    /// without a socket (TIME_WAIT).
    package var progress: TCPProgress?

    /// Describes a socket.
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
    /// What happens when it expires.
    package enum Kind: UInt8, Sendable {
        case none = 0
        /// The oldest data, or the SYN, is sent again.
        case retransmission = 1
        /// A keepalive probe is sent.
        case keepalive = 2
        /// A connection without a socket is forgotten.
        case timeWait = 3
        /// The window of the peer is probed, or what this host could not send is tried again.
        case window = 4
    }

    package var kind: Kind
    /// The milliseconds until it expires.
    package var expires: Int

    package init(_ kind: Kind = .none, expires: Int = 0) {
        (self.kind, self.expires) = (kind, expires)
    }
}

/// What the kernel counts and measures of a TCP connection.
///
/// Times and ages are in milliseconds. The kernel's counterpart is `tcp_info`.
package struct TCPProgress: Hashable, Sendable {
    /// How often the oldest data was sent again.
    package var retransmits = 0
    /// The probes without an answer, of keepalive or of the window.
    package var probes = 0
    /// How often the timeout was doubled.
    package var backoff = 0
    /// The timeout.
    package var timeout = 0
    /// The segments that are not acknowledged.
    package var unacknowledged = 0
    /// The age of the last data that was sent.
    package var lastDataSent = 0
    /// The age of the last data that was received.
    package var lastDataReceived = 0
    /// The age of the last acknowledgement that was received.
    package var lastAcknowledgement = 0
    /// The round-trip time.
    package var roundTrip = 0
    /// The retransmissions that left the TCP of this host, of all data.
    package var totalRetransmits = 0
    /// The segments that were received, from Linux 4.2.
    package var segmentsReceived: Int?
    /// The bytes that wait to be sent, from Linux 4.6.
    package var unsent: Int?
    /// The window of the peer in bytes, from Linux 5.4.
    package var sendWindow: Int?

    package init() {}
}

/// A neighbour with what the kernel knows of its answers.
package struct NeighbourReply: Hashable, Sendable {
    package var state: NeighbourState
    /// The milliseconds since it was last confirmed; `nil` where the kernel does not say.
    package var confirmed: Int?
    /// The requests since the last answer (NDA_PROBES).
    ///
    /// The kernel counts those for a new neighbour from 3.
    package var probes: Int

    package init(_ state: NeighbourState, confirmed: Int? = nil, probes: Int = 0) {
        (self.state, self.confirmed, self.probes) = (state, confirmed, probes)
    }
}

/// What shows whether anything has answered, at one moment.
package struct AnswerRecord: Sendable {
    /// The TCP connections of the host in all states but LISTEN.
    package var sockets: [ConnectedSocket]
    /// The neighbours.
    package var neighbours: [Neighbour.Key: NeighbourReply]

    package init(sockets: [ConnectedSocket] = [], neighbours: [Neighbour.Key: NeighbourReply] = [:]) {
        (self.sockets, self.neighbours) = (sockets, neighbours)
    }
}
