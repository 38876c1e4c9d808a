// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkReachability
import RoutingModel
import Testing

/// What is looked up for a target, before anything is judged.
struct RulesLookupTests {
    private static let interfaces: [InterfaceFacts] = [.loopback, .eth0, .eth1]

    private func network(
        _ answers: [IPAddress: [ScriptedRouting.Answer]] = [:],
        addresses: [InterfaceAddress] = []
    ) -> ScriptedRouting {
        ScriptedRouting(.init(answers: answers, interfaces: Self.interfaces, addresses: addresses))
    }

    private func bound(to interface: InterfaceReference) -> ReachabilityOptions {
        var options = ReachabilityOptions()
        options.interface = interface
        return options
    }

    @Test func `a mapped address is looked up as IPv4`() throws {
        let network = network([remote: [.route(.via(2))]])
        let handle = try reachability(.address(address("::ffff:198.51.100.7")), network)
        #expect(try handle.blockingFlags() == direct)
        #expect(network.queries == [RouteQuery(destination: remote)])
    }

    private static let loopbackTargets = [
        "127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1",
    ]

    @Test(arguments: loopbackTargets) func `a loopback target is reachable through the loopback interface`(
        text: String
    ) throws {
        let target = address(text)
        let network = network([target.unmapped: [.route(.via(1, type: .local))]])
        #expect(try reachability(.address(target), network).blockingFlags() == own)
        #expect(try reachability(.address(target), network, options: bound(to: "lo")).blockingFlags() == own)
        #expect(network.queries.map(\.outputInterface) == [0, 1])
    }

    /// The restriction was ignored: the packets of such a socket leave and never arrive.
    @Test(arguments: loopbackTargets) func `a loopback target is not reachable through another interface`(
        text: String
    ) throws {
        let target = address(text)
        let network = network([target.unmapped: [.route(.via(1, type: .local))]])
        let report = try reachability(.address(target), network, options: bound(to: "eth0")).blockingReport()
        #expect(report.flags.isEmpty)
        #expect(report.reason.description == "no route out of eth0")
        #expect(try reachability(.address(address("127.0.0.1%eth0")), network).blockingFlags().isEmpty)
    }

    @Test func `a loopback target through an interface that does not exist is not reachable`() throws {
        let network = network([.loopbackV4: [.route(.via(1, type: .local))]])
        let handle = try reachability(.address(.loopbackV4), network, options: bound(to: "nosuch0"))
        #expect(try handle.blockingReport().reason.description == "there is no interface \"nosuch0\"")
    }

    @Test(arguments: ["0.0.0.0", "::", "::ffff:0.0.0.0"])
    func `every zero address stands for the default path`(text: String) throws {
        let network = network()
        let target = ReachabilityTarget.address(address(text))
        #expect(target == .defaultPath)
        #expect(try reachability(target, network).blockingFlags().isEmpty)
        #expect(network.queries.map(\.destination) == [lowerProbe, upperProbe, probeV6])
    }

    @Test func `the default path can be that of IPv6 alone`() throws {
        let network = network([probeV6: [.route(.via(2, gateway: gateway))]])
        #expect(try reachability(.defaultPath, network).blockingFlags() == .reachable)
        #expect(network.queries.map(\.destination) == [lowerProbe, upperProbe, probeV6])
    }

    @Test func `a default path that the kernel calls its own does not count`() throws {
        let network = network([
            lowerProbe: [.route(.via(1, type: .local))], upperProbe: [.route(.via(1, type: .local))],
            probeV6: [.route(.via(1, type: .unreachable))],
        ])
        let report = try reachability(.defaultPath, network).blockingReport()
        #expect(report.flags.isEmpty)
        #expect(report.reason.code == .noDefaultRoute)
        #expect(report.address == nil)
    }

    @Test func `the zero address itself is never looked up`() throws {
        let network = network()
        for text in ["0.0.0.0", "::", "::ffff:0.0.0.0", "0.0.0.0%eth0"] {
            _ = try reachability(.address(address(text)), network).blockingReport()
        }
        let resolver = ScriptedResolver(["blocked.example": .addresses([.anyV4, address("::ffff:0.0.0.0")])])
        _ = try reachability(.host("blocked.example"), network, resolver: resolver).blockingReport()
        #expect(!network.queries.map(\.destination).contains { $0.isUnspecified })
    }

    /// The interface of 0.0.0.0%eth0 was dropped once, with a default route elsewhere as the answer.
    @Test(arguments: ["0.0.0.0%eth1", "::%3"])
    func `a zero address with a zone is the default path through that interface`(text: String) throws {
        let network = network()
        let report = try reachability(.address(address(text)), network).blockingReport()
        #expect(network.queries.map(\.destination) == [lowerProbe, upperProbe, probeV6])
        #expect(network.queries.map(\.outputInterface) == [3, 3, 3])
        #expect(report.reason.description == "no route out of eth1")
    }

    @Test(arguments: ["fe80::1", "febf:ffff::1", "ff02::fb", "ff01::1", "ff02::1:ff00:1"])
    func `a link-local address without a zone is 0 and is not asked about`(text: String) throws {
        let network = network()
        let report = try reachability(.address(address(text)), network).blockingReport()
        #expect(report.flags.isEmpty)
        #expect(report.reason.code == .needsInterface)
        #expect(report.reason.description.contains("%interface"))
        #expect(network.queries.isEmpty)
    }

    @Test(arguments: ["fec0::1", "ff05::1", "ff0e::1", "2001:db8::1"])
    func `addresses beyond the link need no zone`(text: String) throws {
        let network = network()
        _ = try reachability(.address(address(text)), network).blockingFlags()
        #expect(network.queries == [RouteQuery(destination: address(text))])
    }

    @Test(
        arguments: [
            ("fe80::1%eth1", "fe80::1"), ("ff02::1%3", "ff02::1"), ("198.51.100.7%eth1", "198.51.100.7"),
        ]
    )
    func `a zone is the output interface`(text: String, destination: String) throws {
        let network = network([address(destination): [.route(.via(3))]])
        #expect(try reachability(.address(address(text)), network).blockingFlags() == direct)
        #expect(network.queries == [RouteQuery(destination: address(destination), outputInterface: 3)])
    }

    /// Of a link-local address, connect(2) refuses the zone.
    @Test func `the zone comes before the interface of the options, but for link-local addresses`() throws {
        let network = network()
        for text in ["198.51.100.7%eth1", "fe80::1%eth1"] {
            _ = try reachability(.address(address(text)), network, options: bound(to: "eth0")).blockingFlags()
        }
        _ = try reachability(.address(remote), network, options: bound(to: "eth0")).blockingFlags()
        #expect(network.queries.map(\.outputInterface) == [3, 2])
    }

    @Test func `the zone of the local address binds the query`() throws {
        let local = address("fe80::2%eth1")
        let network = network(addresses: [
            InterfaceAddress(interfaceIndex: 3, address: address("fe80::2"), prefixLength: 64)
        ])
        let target = try ReachabilityTarget.pair(local: local, remote: address("fe80::1"))
        _ = try reachability(target, network).blockingFlags()
        #expect(network.queries.map(\.outputInterface) == [3])
        #expect(network.queries.map(\.source) == [address("fe80::2")])
    }

    @Test(
        arguments: [
            ("fe80::1%nosuch0", nil, "there is no interface \"nosuch0\""),
            ("fe80::1%99", nil, "no interface has the index 99"),
            ("198.51.100.7", "nosuch0", "there is no interface \"nosuch0\""),
        ] as [(String, InterfaceReference?, String)])
    func `a target whose interface does not exist is not reachable, and says so`(
        text: String, interface: InterfaceReference?, reason: String
    ) throws {
        let options = interface.map(bound) ?? ReachabilityOptions()
        let handle = try reachability(.address(address(text)), network(), options: options)
        #expect(try handle.blockingFlags() == [])
        let report = try handle.blockingReport()
        #expect(report.reason.code == .noInterface && report.reason.description == reason)
    }

    @Test func `the link-local network is an ordinary lookup`() throws {
        let target = IPAddress(169, 254, 0, 0)
        let network = network([target: [.route(.via(2, gateway: gateway))]])
        #expect(try reachability(.address(target), network).blockingFlags() == direct)
        #expect(network.queries == [RouteQuery(destination: target)])
    }

    @Test func `mark and user of the options reach the kernel`() throws {
        var options = ReachabilityOptions()
        options.mark = 0xca6c
        options.user = 1_000
        let network = network()
        _ = try reachability(.address(remote), network, options: options).blockingFlags()
        var query = RouteQuery(destination: remote, mark: 0xca6c)
        query.user = 1_000
        #expect(network.queries == [query])
    }
}
