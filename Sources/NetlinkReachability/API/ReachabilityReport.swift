// SPDX-License-Identifier: Apache-2.0

/// The flags of a target and what led to them.
public struct ReachabilityReport: Hashable, Sendable {
    /// What was asked about.
    public let target: ReachabilityTarget
    /// The flags.
    public let flags: ReachabilityFlags
    /// Why.
    public let reason: ReachabilityReason
    /// The address that decided; `nil` for the default path and for a name without addresses.
    public let address: IPAddress?
    /// The entry of the kernel's tables that decided; `nil` when there was none, and it can be in a brief report.
    public var route: Route? { boxedRoute?.value }
    /// The interface that packets leave through; `nil` when there is none.
    public let interface: NetworkInterface?
    /// The gateway; `nil` when there is none on the way.
    public let gateway: IPAddress?
    /// The source address that packets get; `nil` when there is none, it cannot be told, or the report is
    /// brief.
    public let sourceAddress: IPAddress?
    /// Every address that was judged, in the resolver's order, with the verdict over it alone; none in a brief
    /// report.
    public let findings: [Finding]

    /// A route is as large as all the rest, and brief reports have none.
    private let boxedRoute: Box<Route>?

    /// Whether packets will leave towards the target: ``isNetworkReachable(flags:)`` of its flags.
    public var isReachable: Bool {
        isNetworkReachable(flags: flags)
    }

    init(_ target: ReachabilityTarget, _ evaluation: Evaluation, sourceAddress: IPAddress?) {
        self.target = target
        flags = evaluation.flags
        reason = evaluation.reason
        // The address that stands for the default path is none of the user's.
        address = evaluation.candidate.flatMap { $0.isDefaultPath ? nil : $0.destination }
        boxedRoute = (evaluation.lookup?.route).map(Box.init)
        interface = evaluation.facts.map(NetworkInterface.init)
        gateway = evaluation.gateway
        self.sourceAddress = sourceAddress
        findings = evaluation.all.map(Finding.init)
    }

    /// How much a report tells.
    public enum Detail: Hashable, Sendable, CaseIterable {
        /// The flags, why, the interface and the gateway.
        case brief
        /// Also the route, the source address, which takes a further question, and every finding.
        case full
    }

    /// The verdict over one address.
    public struct Finding: Hashable, Sendable {
        /// The address.
        public let address: IPAddress
        /// Its flags.
        public let flags: ReachabilityFlags
        /// Why.
        public let reason: ReachabilityReason
        /// The entry of the kernel's tables; `nil` when there was none.
        public let route: Route?
        /// The errno with which the kernel refused; `nil` when it did not.
        public let kernelError: Int32?
        /// The leg that decided; `nil` when there was none.
        public let nexthop: Nexthop?
        /// The interface of that leg as the kernel describes it.
        public let link: Link?
        /// The interface of that leg, with its type.
        public let interface: NetworkInterface?
    }
}

extension ReachabilityReport.Finding {
    init(_ evaluation: Evaluation) {
        address = evaluation.candidate?.destination ?? .anyV4
        flags = evaluation.flags
        reason = evaluation.reason
        nexthop = evaluation.nexthop
        link = evaluation.facts?.link
        interface = evaluation.facts.map(NetworkInterface.init)
        route = evaluation.lookup?.route
        if case .rejected(let rejection)? = evaluation.lookup?.summary {
            kernelError = rejection.rawValue
        } else {
            kernelError = nil
        }
    }
}
