// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import NetlinkRecording
import RoutingModel
import Testing

@testable import NetlinkReachability

/// The flags of every probe, from the dumps alone, against those that follow from the kernel's answer.
struct RecordedFlagsTests {
    /// Networks with a source-specific route for 2001:db8:ffff::/48: the kernel's answers are to queries without
    /// a source address, and a socket selects one.
    private static let sourceSpecific = [
        "22-lookup-corners/11-local-prefixes-source-specific-unnumbered",
        "22-lookup-corners/12-forwarding-anycast-eth1-without-v6",
    ]

    /// A group behind a route with two nexthops, one of them without a carrier: the socket gets the source address of
    /// one of them by a hash, and sends through its interface.
    private static let open = [
        "16-multipath-nexthop/02-one-leg-linkdown": ["224.0.0.251", "255.255.255.255"]
    ]

    @Test(arguments: sourceSpecific)
    func `a source-specific route is taken with the source address that a socket gets`(name: String) throws {
        let network = RecordedNetwork(name: name)
        let source = NetworkSource(routing: try network.routing(), resolver: ScriptedResolver())
        let target = ReachabilityTarget.address("2001:db8:ffff::1")
        let reachability = NetworkReachability(target: target, source: source)
        #expect(try reachability.blockingFlags() == .reachable)
    }

    @Test(arguments: RecordedNetwork.all)
    func `each probe has the flags that follow from the kernel's answer`(network: RecordedNetwork) throws {
        let routing = try network.routing()
        let source = NetworkSource(routing: routing, resolver: ScriptedResolver())
        let expected = ExpectedFlags(routing)
        let probes = try network.probes()
        var plain: [(address: IPAddress, flags: ReachabilityFlags)] = []
        for probe in probes {
            let address = try #require(IPAddress(probe.target))
            // Asked for on purpose below: the zero addresses stand for the default path.
            if address.isUnspecified { continue }
            if Self.sourceSpecific.contains(network.name), probe.target.hasPrefix("2001:db8:ffff:") {
                continue
            }
            var options = ReachabilityOptions()
            options.interface = probe.oif.map { InterfaceReference(name: $0) }
            let reachability = NetworkReachability(
                target: .address(address), options: options, source: source)
            if probe.oif == nil, Self.open[network.name]?.contains(probe.target) == true {
                let error = #expect(throws: ReachabilityError.self) { try reachability.blockingFlags() }
                #expect(error?.code == .undecided)
                continue
            }
            let found = try reachability.blockingFlags()
            let wanted = expected.flags(probe, among: probes, links: routing.snapshot.links.byIndex)
            #expect(found == wanted, "\(probe.target) out of \(probe.oif ?? "any")")
            #expect(try reachability.blockingReport().flags == wanted)
            if probe.oif == nil { plain.append((address, wanted)) }
        }
        let together = source.blockingValues(of: plain.map { .flags(of: .address($0.address)) })
        #expect(together == plain.map { .success($0.flags) })
    }

    @Test(arguments: RecordedNetwork.all)
    func `the default path has the flags that follow from the kernel's answers`(network: RecordedNetwork)
        throws
    {
        let routing = try network.routing()
        let source = NetworkSource(routing: routing, resolver: ScriptedResolver())
        let expected = ExpectedFlags(routing)
        let probes = try network.probes()
        let answers = try network.publicTargets.map { probe in
            (probe, try #require(probes.first { $0.target == probe && $0.oif == nil }).fibmatch)
        }
        let wanted = expected.defaultPath(answers)
        let reachability = NetworkReachability(target: .defaultPath, source: source)
        #expect(try reachability.blockingFlags() == wanted)
    }
}

extension ExpectedFlags {
    init(_ routing: SnapshotRouting) {
        links = routing.snapshot.links.byIndex
        addresses = routing.snapshot.addresses
        cellular = routing.cellularIndexes
        isOlderKernel = routing.snapshot.kernel.map { ($0.major, $0.minor) < (6, 1) } ?? false
    }

    /// The flags of the default path by the kernel's answers about public addresses.
    func defaultPath(_ answers: [(target: String, answer: Probe.Answer)]) -> ReachabilityFlags {
        answers.reduce(into: []) { best, probe in
            guard probe.answer.type == "unicast" else { return }
            let found = flags(probe.target, probe.answer, bound: nil)
            if found.rank > best.rank { best = found }
        }
    }

    /// The flags of a probe by the kernel's answer to it, or to the same without a binding for loopback.
    func flags(_ probe: Probe, among probes: [Probe], links: [UInt32: Link]) -> ReachabilityFlags {
        let isLoopback = probe.target.hasPrefix("127.") || probe.target == "::1"
        let isLinkScoped = ["fe8", "fe9", "fea", "feb", "ff01:", "ff02:"].contains(
            where: probe.target.hasPrefix)
        if isLinkScoped, probe.oif == nil { return [] }
        let bound = links.values.first { $0.name == probe.oif }?.index
        guard isLoopback, bound != nil else { return flags(probe.target, probe.fibmatch, bound: bound) }
        let unbound = probes.first { $0.target == probe.target && $0.oif == nil } ?? probe
        return flags(probe.target, unbound.fibmatch, bound: nil)
    }
}
