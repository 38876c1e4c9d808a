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
    /// It is ignored for loopback targets.
    public var interface: String?
    /// The address that the socket is bound to; `nil` for none.
    public var source: IPAddress?
    /// The socket's mark (SO_MARK), which rules may look at; 0 for none.
    public var mark: UInt32 = 0
    /// The user that the socket belongs to, which rules may look at; `nil` for the current one.
    public var user: UInt32?
    /// How long the resolver may take over a name.
    public var resolutionTimeout: Duration = .seconds(5)

    /// An unbound, unmarked socket of the current user, five seconds for the resolver.
    public init() {}

    /// Whether a family counts.
    func admits(_ family: IPAddress.Family) -> Bool {
        families.contains(family == .v4 ? .v4 : .v6)
    }
}
