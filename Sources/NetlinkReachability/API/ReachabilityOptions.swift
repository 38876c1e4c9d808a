// SPDX-License-Identifier: Apache-2.0

/// What is special about the socket that a program wants to use.
///
/// Left as they are, the options describe an unbound, unmarked socket of the current user. A bound or marked
/// socket can take another route; say so here and the kernel answers for it.
public struct ReachabilityOptions: Hashable, Sendable {
    /// The address families that count.
    public struct Families: OptionSet, Hashable, Sendable {
        /// The set as a number.
        public let rawValue: UInt8

        /// Wraps a number.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// IPv4.
        public static let v4 = Families(rawValue: 1)
        /// IPv6.
        public static let v6 = Families(rawValue: 2)
        /// Both.
        public static let all: Families = [.v4, .v6]
    }

    /// The families that count.
    ///
    /// An IPv4-mapped IPv6 address is an IPv4 one.
    public var families: Families = .all
    /// The name of the interface that the socket is bound to (SO_BINDTODEVICE); `nil` for none.
    ///
    /// Loopback targets are not reachable through another interface than the loopback interface.
    public var interface: String?
    /// The address that the socket is bound to; `nil` for none.
    public var source: IPAddress?
    /// The socket's mark (SO_MARK), which rules may look at; 0 for none.
    public var mark: UInt32 = 0
    /// The user that the socket belongs to, which rules may look at; `nil` for the current one.
    public var user: UInt32?
    /// The IP protocol that rules may match on, such as `IPPROTO_TCP`; `nil` for UDP.
    public var ipProtocol: UInt8?
    /// The source port that rules may match on, in host byte order; `nil` for none.
    public var sourcePort: UInt16?
    /// The destination port that rules may match on, in host byte order; `nil` for none.
    public var destinationPort: UInt16?
    /// The type of service (IP_TOS) or the traffic class (IPV6_TCLASS) that rules and routes may match on.
    public var typeOfService: UInt8 = 0
    /// How long the resolver may take over a name.
    public var resolutionTimeout: Duration = .seconds(5)

    /// An unbound, unmarked socket of the current user, five seconds for the resolver.
    public init() {}

    /// Puts the socket's mark, user and flow into a question.
    func apply(to query: inout RouteQuery) {
        query.mark = mark
        query.user = user
        query.ipProtocol = ipProtocol
        query.sourcePort = sourcePort
        query.destinationPort = destinationPort
        query.typeOfService = typeOfService
    }

    /// Whether a family counts.
    func admits(_ family: IPAddress.Family) -> Bool {
        families.contains(family == .v4 ? .v4 : .v6)
    }
}
