// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkReachability
internal import RoutingModel
internal import TestSupport

/// A network at rest, as the library and the kernel show it.
struct WitnessedNetwork {
    let source: NetworkSource
    private let kernel: KernelRouting

    init() throws {
        source = try .currentNamespace()
        kernel = try KernelRouting()
    }

    /// The interface and the gateway of the packets of a connected socket.
    struct Exit {
        var interface: UInt32
        /// `nil` for none, and where the kernel names another interface: it selects among several nexthops.
        var gateway: IPAddress?
    }

    /// Finds the exit of a socket: its interface by the MTU, and its gateway by the kernel's answer to the same
    /// query.
    ///
    /// - Returns: The exit; `nil` if it is unknown.
    func exit(of query: RouteQuery, _ outcome: SocketWitness.Outcome) throws(ReachabilityError) -> Exit? {
        guard case .connects(let source, let mtu?) = outcome,
            let name = NetworkGenerator.mtus.first(where: { $0.mtu == mtu })?.name
        else { return nil }
        let interface = if_nametoindex(name)
        let answer = try query.lastAnswer(from: source) { (query) throws(ReachabilityError) in
            try steadyAnswer(to: query.forPacket)
        }
        guard let answer else { return nil }
        let nexthop = answer.nexthops.first
        return Exit(
            interface: interface, gateway: nexthop?.interfaceIndex == interface ? nexthop?.gateway : nil)
    }

    /// The kernel's answer; `nil` if it has another one the next time: of equal default routes whose gateways answer it
    /// takes another one for each lookup (`fib_select_default`).
    func steadyAnswer(to query: RouteQuery) throws(ReachabilityError) -> RouteAnswer? {
        let answer = try kernel.answer(to: query)
        let next = try kernel.answer(to: query)
        return next == answer ? answer : nil
    }

    /// The entry of the tables that matches the packets of a connected socket; `nil` where its source is unknown.
    func entry(
        _ query: RouteQuery, _ outcome: SocketWitness.Outcome
    ) throws(ReachabilityError) -> RouteAnswer? {
        guard case .connects(let source?, _) = outcome else { return nil }
        return try query.lastAnswer(from: source) { (query) throws(ReachabilityError) in
            try kernel.answer(to: query)
        }
    }

    /// Whether the packets of a connected socket are known to leave through an interface that works.
    func leaves(_ query: RouteQuery, _ outcome: SocketWitness.Outcome) throws(ReachabilityError) -> Bool {
        guard let exit = try exit(of: query, outcome) else { return false }
        return try !isDead(exit.interface)
    }

    /// Whether a connected socket takes an interface that is dead, where the kernel chooses one of several nexthops by
    /// the addresses alone.
    func takesDead(_ query: RouteQuery, _ outcome: SocketWitness.Outcome) throws(ReachabilityError) -> Bool {
        let policy = kernel.multipathHashPolicy(query.destination.unmapped.family)
        guard policy == .addresses || policy == .innerAddresses, let exit = try exit(of: query, outcome)
        else { return false }
        return try isDead(exit.interface)
    }

    /// Whether an interface is down or has no carrier.
    func isDead(_ interface: UInt32) throws(ReachabilityError) -> Bool {
        let dead: InterfaceTraits = [.isDown, .hasNoCarrier, .lowerIsDown, .lowerHasNoCarrier]
        return try kernel.facts(aboutInterface: interface, detail: .flags)?.traits.isDisjoint(with: dead)
            != true
    }
}

/// How the library's default path differs from what sockets to public addresses take.
enum PathTestimony: String {
    case flags = "the path has other flags"
    case interface = "the path leaves out the socket's interface"
    case gateway = "the path leaves out the socket's gateway"
    case entry = "no entry of the report has the socket's interface and gateway"
    case decision = "no socket takes the interface of the report"

    /// Compares the path, its interfaces and its gateways with the connected sockets; `nil` if they agree.
    ///
    /// A socket over a dead link, through a tunnel that waits or from a link-local address shows nothing: the library
    /// leaves out the nexthop on purpose.
    init?(
        _ triple: Triple,
        _ flags: ReachabilityFlags,
        _ sockets: [(RouteQuery, SocketWitness.Outcome)],
        _ network: WitnessedNetwork
    ) throws(ReachabilityError) {
        let path = try network.source.blockingValue(of: .path(options: triple.options))
        guard path.flags == flags else {
            self = .flags
            return
        }
        guard flags.contains(.reachable) else { return nil }
        let report = try NetworkReachability(options: triple.options, source: network.source).blockingReport()
        guard let difference = try Self.difference(path, report, sockets, network) else { return nil }
        self = difference
    }

    private static func difference(
        _ path: NetworkPath,
        _ report: ReachabilityReport,
        _ sockets: [(RouteQuery, SocketWitness.Outcome)],
        _ network: WitnessedNetwork
    ) throws(ReachabilityError) -> PathTestimony? {
        let nexthops = report.findings.flatMap { $0.route?.nexthops ?? [] }
        var taken: Set<UInt32> = []
        var isAnyDead = false
        for (query, outcome) in sockets {
            guard let exit = try network.exit(of: query, outcome) else { return nil }
            taken.insert(exit.interface)
            let isLeftOut = report.findings.contains {
                $0.interface?.index == exit.interface
                    && ($0.reason.code == .tunnelWaits || $0.reason.code == .unusableSource)
            }
            let isDead = try network.isDead(exit.interface)
            if isDead || isLeftOut {
                isAnyDead = true
                continue
            }
            // A family that is less reachable than the other is not used.
            let isUsed = query.destination.family == .v4 ? path.supportsIPv4 : path.supportsIPv6
            guard isUsed else { continue }
            if !path.usedInterfaces.contains(where: { $0.index == exit.interface }) { return .interface }
            if let gateway = exit.gateway, !path.gateways.contains(where: { $0.withoutZone == gateway }) {
                return .gateway
            }
            let isListed = nexthops.contains {
                $0.interfaceIndex == exit.interface && (exit.gateway == nil || $0.gateway == exit.gateway)
            }
            if !isListed { return .entry }
        }
        // Packets take one of several nexthops by a hash, also a dead one that still has its share of them: then the
        // route of the report's address need not be that of the sockets.
        if isAnyDead { return nil }
        let deciding = report.findings.first {
            $0.reason == report.reason && $0.interface == report.interface
        }
        guard deciding?.route?.nexthops.count == 1, let decided = report.interface?.index else { return nil }
        return taken.contains(decided) ? nil : .decision
    }
}
