// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel

/// The flags of a target, and the facts that led to them.
///
/// ```swift
/// let report = try await NetworkReachability(host: "example.com").report()
/// print(report)                          // example.com: -R -------, through gateway 192.0.2.1 on eth0
/// print(report.interface?.name ?? "-", report.sourceAddress?.description ?? "-")
/// ```
///
/// A report describes one moment. It can be encoded, logged and compared with a later one.
public struct ReachabilityReport: Hashable, Sendable, Codable {
    /// The target of the query.
    public let target: ReachabilityTarget
    /// The flags.
    public let flags: ReachabilityFlags
    /// Why the target has these flags.
    public let reason: ReachabilityReason
    /// The address that decided; `nil` for the default path, and for a name without addresses.
    public let address: IPAddress?
    /// The route that decided; `nil` if there is none, and in a brief report.
    public let route: NetworkRoute?
    /// The interface that packets leave through; `nil` if there is none.
    public let interface: NetworkInterface?
    /// The gateway that packets are sent to; `nil` if there is none.
    public let gateway: IPAddress?
    /// The source address of packets; `nil` if packets cannot leave, if it is unknown, and in a brief report.
    public let sourceAddress: IPAddress?
    /// The result of connect(2) for a UDP socket with the options of the query on this host.
    ///
    /// It does not affect the flags.
    ///
    /// The flags follow from the routes. If something else refuses the socket, ``ReachabilityReport/reason`` is
    /// `socketRefused`: an IPsec policy with the action `block`, or a BPF program for connect(2) in the cgroup of
    /// this process, can refuse a destination that has a route. The socket connects to
    /// ``ReachabilityReport/address``, or to an address of the default path, and sends nothing. An IPsec policy that
    /// makes its connection for the first packet also makes it for connect(2).
    ///
    /// It is `nil` in a brief report, in one of a recorded or simulated network, if no address was looked up, and if
    /// such a socket cannot be made: of another user, with another protocol than UDP, with a source port or a type of
    /// service, with a mark and without the privilege to set it, or in another network namespace.
    public let connectResult: ConnectResult?
    /// Whether this host accepts an answer from the target that arrives on the interface through which packets leave.
    ///
    /// It is `nil` in a brief report, if packets cannot leave or stay on this host, for multicast and broadcast
    /// addresses, because their members answer from other addresses, and for routes that encapsulate packets. If this
    /// host drops the answer, ``reason`` is ``ReachabilityReason/Code/answerDropped``, and the flags do not change.
    public let returns: Returns?
    /// The policy rules that led to ``route``, or to the refusal.
    ///
    /// It is `nil` in a brief report, if no address was looked up, and if the rules are not known.
    public let rules: Rules?
    /// The path MTU that the kernel has learned for the address from an ICMP message.
    ///
    /// It is `nil` if it has learned none, in a brief report, and of a recorded or simulated network.
    public let pathMTU: PathMTU?
    /// Every address that was looked up, in the resolver's order, each with its own result; empty in a brief report.
    ///
    /// The default path has one public address of each family. It has two of IPv4 if the two halves of the address
    /// space have different results.
    public let findings: [Finding]
    /// The carriers of ``interface`` and of each carrier that is a tunnel itself; empty in a brief report.
    public var carriers: [TunnelCarrier] { knownCarriers ?? [] }
    /// `nil` for none, so that a report without tunnels is encoded without this key.
    let knownCarriers: [TunnelCarrier]?
    /// The nexthops that packets can take instead of ``interface`` and ``gateway``.
    ///
    /// The kernel chooses one of several nexthops by a hash. It is empty if all packets take the same one, which the
    /// running kernel names for an address if the hash is of the addresses alone (`fib_multipath_hash_policy` 0 and 2).
    /// The default path stands for many addresses, and a recording does not contain the hash: there, each nexthop of
    /// the route that the kernel can choose is listed, also one that cannot send.
    public var otherNexthops: [NetworkRoute.Nexthop] { knownOtherNexthops ?? [] }
    /// `nil` for none, as ``knownCarriers``.
    let knownOtherNexthops: [NetworkRoute.Nexthop]?

    private enum CodingKeys: String, CodingKey {
        case target, flags, reason, address, route, interface, gateway, sourceAddress, connectResult, findings
        case returns, rules, pathMTU
        case knownCarriers = "carriers"
        case knownOtherNexthops = "otherNexthops"
    }

    /// Whether packets can leave for the target: ``ReachabilityFlags/isNetworkReachable`` of the flags.
    public var isReachable: Bool {
        flags.isNetworkReachable
    }

    /// How much a report contains.
    public enum Detail: String, Hashable, Sendable, CaseIterable, Codable {
        /// The flags, the reason, the address, the interface and the gateway.
        case brief
        /// Everything. The source address can need one more query to the kernel, and
        /// ``ReachabilityReport/connectResult`` needs a socket.
        case full
    }

    /// The result of connect(2) for a socket.
    public enum ConnectResult: Hashable, Sendable, Codable {
        /// The socket connects, and its packets have this source address.
        case connects(from: IPAddress)
        /// connect(2), or bind(2) to the source address, fails with this errno.
        case refused(errno: Int32)
    }

    /// The delivery of an answer to this host.
    public struct Returns: Hashable, Sendable, Codable {
        /// Whether the answer is delivered; `nil` if that is not known.
        public let isDelivered: Bool?
        /// The treatment of the answer by this host; `nil` if that is not known.
        public let arrival: PacketArrival?
        /// Why it is not known, in words; `nil` if it is known.
        public let unknown: String?
    }

    /// A path MTU that the kernel has learned.
    ///
    /// The kernel's counterpart are `RTAX_MTU` and the lifetime of an exception of the route.
    public struct PathMTU: Hashable, Sendable, Codable {
        /// The largest packet that goes through, in bytes with the IP header.
        public let mtu: UInt32
        /// How long the kernel keeps it, in whole seconds.
        public let seconds: Int
    }

    /// The result for one address.
    public struct Finding: Hashable, Sendable, Codable {
        /// The address.
        public let address: IPAddress
        /// Its flags.
        public let flags: ReachabilityFlags
        /// Why the address has these flags.
        public let reason: ReachabilityReason
        /// The errno with which the kernel refused the query; `nil` if it answered with a route.
        public let kernelError: Int32?
        /// The interface that decided, with its type; `nil` if there is none.
        public let interface: NetworkInterface?
        /// The state of ``interface``; `nil` if there is none.
        public let interfaceState: NetworkInterface.State?
        /// The route that decided, with all its nexthops; `nil` if there is none.
        public let route: NetworkRoute?
    }
}

extension ReachabilityReport {
    /// What counts as a change of a report.
    public enum Change: String, Hashable, Sendable, CaseIterable {
        /// A change of the flags. Another gateway with the same flags is not a change.
        case flags
        /// A change of the flags, the reason, the interface, the gateway or the source address.
        ///
        /// A brief report has no source address. Another address for a name is not a change.
        case report
    }
}

extension ReachabilityReport: CustomStringConvertible {
    /// One line: the target, the flags' letters and the reason.
    public var description: String {
        "\(target): \(flags.letters), \(reason)"
    }

    /// The last result of a wait for a target, in one sentence.
    ///
    /// - Parameters:
    ///   - target: The target in the program's words.
    ///   - result: The last result; `nil` if there is none yet.
    /// - Returns: The sentence.
    package static func sentence(on target: String, _ result: Result<Self, ReachabilityError>?) -> String {
        switch result {
        case .success(let report):
            "\(target) is \(report.isReachable ? "" : "not ")reachable: \(report.reason)"
        case .failure(let error): "\(target) could not be evaluated: \(error)"
        case nil: "\(target) is not resolved yet"
        }
    }
}

// MARK: - Sockets

extension ReachabilityReport.ConnectResult: CustomStringConvertible {
    /// One line: the source address, or the errno with its possible cause.
    public var description: String {
        switch self {
        case .connects(let source): "connects from \(source)"
        case .refused(let number): "refused with \(Self.cause(of: number) ?? "errno \(number)")"
        }
    }

    private static func cause(of number: Int32) -> String? {
        switch number {
        case EPERM:
            "EPERM: an IPsec policy with the action block, a BPF program of the cgroup, or a security module"
        case EACCES: "EACCES: a route or rule of type prohibit, or a security module"
        case ENETUNREACH: "ENETUNREACH: no route, or a rule of type unreachable"
        case EHOSTUNREACH: "EHOSTUNREACH: a route of type unreachable"
        case EINVAL: "EINVAL: a route or rule of type blackhole"
        case EADDRNOTAVAIL: "EADDRNOTAVAIL: no address of this host can be the source"
        default: nil
        }
    }

    /// The reason if something other than the route refuses the socket; `nil` if nothing does.
    ///
    /// `flags` are those of the route.
    func refusal(beside flags: ReachabilityFlags) -> ReachabilityReason? {
        guard case .refused(let number) = self, flags.contains(.reachable),
            // The routes can change between the two answers, so these errors are ignored.
            ![ENETUNREACH, EHOSTUNREACH, EINVAL, EADDRNOTAVAIL, EAFNOSUPPORT].contains(number)
        else { return nil }
        let name = Self.cause(of: number)?.prefix { $0 != ":" }
        return ReachabilityReason(.socketRefused, name.map(String.init) ?? "errno \(number)")
    }

    init(_ outcome: ConnectOutcome) {
        switch outcome {
        case .connects(let source): self = .connects(from: source)
        case .refused(let rejection): self = .refused(errno: rejection.rawValue)
        }
    }
}

// MARK: - Answers

extension ReachabilityReport.Returns: CustomStringConvertible {
    /// One line: what this host does with the answer, or why that is not known.
    public var description: String { arrival?.description ?? "not known: \(unknown ?? "")" }

    init(_ result: Result<PacketArrival, ReachabilityError>) {
        switch result {
        case .success(let arrival):
            self.init(isDelivered: arrival.outcome == .delivered, arrival: arrival, unknown: nil)
        case .failure(let error): self.init(isDelivered: nil, arrival: nil, unknown: error.description)
        }
    }
}

extension ReachabilityReport.PathMTU: CustomStringConvertible {
    /// One line: `path MTU 1400, learned, expires in 590 s`.
    public var description: String { "path MTU \(mtu), learned, expires in \(seconds) s" }
}

// MARK: - Findings

extension ReachabilityReport.Finding: CustomStringConvertible {
    /// One line: the address, the flags' letters and the reason.
    public var description: String {
        "\(address): \(flags.letters), \(reason)"
    }
}
