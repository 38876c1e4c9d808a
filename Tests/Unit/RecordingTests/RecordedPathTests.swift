// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkReachability
import NetlinkRecording
import RoutingModel
import Testing

/// The default path of each recorded moment, from the dumps alone, against the kernel's own answers.
struct RecordedPathTests {
    @Test(arguments: RecordedNetwork.all) func `status, flags and families follow from the kernel's answers`(
        network: RecordedNetwork
    ) throws {
        let routing = try network.routing()
        let path = try network.source(routing).blockingValue(of: .path())
        let flags = try network.defaultFlags(routing)
        let best = flags.max { $0.rank < $1.rank }?.rank ?? 0
        #expect(path.flags == (best == 0 ? [] : flags.first { $0.rank == best }))
        let statuses: [NetworkPath.Status] = [.unsatisfied, .requiresConnection, .satisfied]
        #expect(path.status == statuses[best])
        #expect(path.supportsIPv4 == (best > 0 && flags[0].rank == best))
        #expect(path.supportsIPv6 == (best > 0 && flags[1].rank == best))
    }

    @Test(arguments: RecordedNetwork.all) func `the interfaces that are used are those that the kernel names`(
        network: RecordedNetwork
    ) throws {
        let routing = try network.routing()
        let path = try network.source(routing).blockingValue(of: .path())
        let answers = try network.defaultAnswers()
        let named = Set(answers.flatMap(\.ways).map(\.interface))
        #expect(Set(path.usedInterfaces.map { UInt32($0.index) }).isSubset(of: named))
        #expect(path.usedInterfaces.isEmpty == (path.status == .unsatisfied))
        #expect(path.availableInterfaces.starts(with: path.usedInterfaces))
        #expect(Set(path.availableInterfaces).count == path.availableInterfaces.count)
        #expect(Set(path.gateways).count == path.gateways.count)
    }

    @Test(
        arguments: [
            ("01-dummy/01-created-down", "unsatisfied"),
            ("01-dummy/02-up-default-routes", "satisfied dummy0:other IPv4 IPv6"),
            ("02-wireguard/04-wg-quick-full-tunnel", "satisfied wg0:other eth0:wiredEthernet IPv4 IPv6"),
            ("02-wireguard/05-underlay-no-carrier", "satisfied wg0:other IPv4 IPv6"),
            ("05-ppp/02-ppp-up", "satisfied ppp0:other IPv4 IPv6"),
            ("06b-ppp-demand-dynamic/02-demand-up-not-connected", "requiresConnection ppp0:other IPv4"),
            ("07-wifi-hwsim/05-associated-addresses-default", "satisfied wlan1:wifi IPv4 IPv6"),
            ("07-wifi-hwsim/08-rfkill-blocked", "unsatisfied"),
            ("08-wwan/04-addr-and-default", "satisfied wwan0:cellular IPv4 IPv6 expensive"),
            ("08-wwan/06-down", "unsatisfied"),
            ("09-slaac/05-slaac-ready", "satisfied eth0:wiredEthernet IPv6"),
            ("13-tun-tap/02-attached-openvpn-def1-routes", "satisfied tun0:other IPv4"),
            ("15-dormant/04-carrier-back-dormant", "requiresConnection eth0:wiredEthernet IPv4 IPv6"),
            (
                "16-multipath-nexthop/01-multipath-default",
                "satisfied eth0:wiredEthernet eth1:wiredEthernet IPv4 IPv6"
            ),
            ("16-multipath-nexthop/02-one-leg-linkdown", "satisfied eth1:wiredEthernet IPv4 IPv6"),
            (
                "22-lookup-corners/01-two-defaults-by-metric",
                "satisfied eth0:wiredEthernet eth1:wiredEthernet IPv4 IPv6"
            ),
            ("22-lookup-corners/02-preferred-uplink-no-carrier", "unsatisfied eth1:wiredEthernet"),
            ("22-lookup-corners/03-ignore-routes-with-linkdown", "satisfied eth1:wiredEthernet IPv4 IPv6"),
        ]
    )
    func `the path of each kind of network`(name: String, expected: String) throws {
        let network = RecordedNetwork(name: name)
        let path = try network.source(try network.routing()).blockingValue(of: .path())
        let interfaces = path.availableInterfaces.map { "\($0.name):\($0.type.rawValue)" }
        let traits = [
            (path.supportsIPv4, "IPv4"), (path.supportsIPv6, "IPv6"), (path.isExpensive, "expensive"),
        ]
        let words = [path.status.rawValue] + interfaces + traits.filter(\.0).map(\.1)
        #expect(words.joined(separator: " ") == expected)
        #expect(!path.supportsDNS)
    }

    @Test func `a VRF's interfaces are not on the path of those outside`() throws {
        let network = RecordedNetwork(name: "20-kinds-zoo/02-up")
        let routing = try network.routing()
        let path = try network.source(routing).blockingValue(of: .path())
        let ports = routing.snapshot.links.values.filter { $0.portKind == "vrf" || $0.kind == "vrf" }
        #expect(!ports.isEmpty)
        #expect(Set(path.availableInterfaces.map(\.name)).isDisjoint(with: ports.map(\.name)))
    }

    @Test func `a required type has the path of its own interface`() throws {
        let network = RecordedNetwork(name: "02-wireguard/04-wg-quick-full-tunnel")
        let source = network.source(try network.routing())
        let wired = try source.blockingValue(of: .path(requiring: .wiredEthernet))
        #expect(wired.status == .satisfied)
        #expect(wired.availableInterfaces.map(\.name) == ["eth0"])
        let untunnelled = try source.blockingValue(of: .path(prohibiting: [.other]))
        #expect(untunnelled == wired)
        let wifi = try source.blockingValue(of: .path(requiring: .wifi))
        #expect(wifi.status == .unsatisfied)
    }
}

extension RecordedNetwork {
    fileprivate func source(_ routing: SnapshotRouting) -> NetworkSource {
        NetworkSource(routing: routing, resolver: ScriptedResolver())
    }

    /// The kernel's answers about an address of each family that only default routes match.
    fileprivate func defaultAnswers() throws -> [Probe.Answer] {
        let probes = try probes()
        return try publicTargets.map { target in
            try #require(probes.first { $0.target == target && $0.oif == nil }).fibmatch
        }
    }

    /// The flags that follow from them.
    fileprivate func defaultFlags(_ routing: SnapshotRouting) throws -> [ReachabilityFlags] {
        let expected = ExpectedFlags(routing)
        return try zip(publicTargets, defaultAnswers()).map { target, answer in
            answer.type == "unicast" ? expected.flags(target, answer, bound: nil) : []
        }
    }
}
