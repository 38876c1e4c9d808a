// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import RoutingModel
import Testing

@testable import NetlinkReachability

struct PathAnswerTests {
    let network = ScriptedNetwork()

    @Test func `a host without a default route has no path`() throws {
        network.wire(2, "eth0")
        let path = try network.path()
        #expect(path.status == .unsatisfied)
        #expect(path.names == [])
        #expect(path.gateways == [])
        #expect(!path.supportsIPv4 && !path.supportsIPv6 && !path.supportsDNS)
        #expect(NetworkInterface.InterfaceType.allCases.allSatisfy { !path.usesInterfaceType($0) })
        #expect(path.flags == [])
    }

    @Test func `a default route satisfies the path, in its family alone`() throws {
        network.wire(2, "eth0")
        network.setDefault(.defaultRoute(2, via: "192.0.2.254"))
        let path = try network.path()
        #expect(path.status == .satisfied)
        #expect(path.availableInterfaces == [NetworkInterface(index: 2, name: "eth0", type: .wiredEthernet)])
        #expect(path.gatewayTexts == ["192.0.2.254"])
        #expect(path.supportsIPv4)
        #expect(!path.supportsIPv6)
        #expect(path.usesInterfaceType(.wiredEthernet))
        #expect(!path.usesInterfaceType(.wifi))
        #expect(!path.isExpensive && !path.isConstrained)
        #expect(path.flags == [.reachable])
    }

    @Test func `IPv6 alone satisfies it, and a link-local gateway names its interface`() throws {
        network.wire(2, "eth0")
        network.setDefault(.defaultRoute(2, via: "fe80::1", metric: 1_024, family: .v6))
        let path = try network.path()
        #expect(path.status == .satisfied)
        #expect(!path.supportsIPv4)
        #expect(path.supportsIPv6)
        #expect(path.gatewayTexts == ["fe80::1%eth0"])
    }

    @Test func `the interface that packets take comes first, then by metric`() throws {
        for (index, metric) in [(2, 600), (3, 100), (4, 300)] as [(UInt32, UInt32)] {
            network.wire(index, "eth\(index)")
            network.setDefault(.defaultRoute(index, via: "192.0.\(index).254", metric: metric))
        }
        let path = try network.path()
        #expect(path.names == ["eth3", "eth4", "eth2"])
        #expect(path.gatewayTexts == ["192.0.3.254", "192.0.4.254", "192.0.2.254"])
        #expect(path.usedInterfaces.map(\.name) == ["eth3"])
    }

    @Test func `interfaces of one metric are in the order of their indexes`() throws {
        network.wire(9, "eth9")
        network.setDefault(.defaultRoute(9, via: "192.0.2.254", metric: 10))
        for index in [7, 5] as [UInt32] {
            network.wire(index, "eth\(index)")
            network.setDefault(.defaultRoute(index, via: "192.0.2.253", metric: 50))
        }
        #expect(try network.path().names == ["eth9", "eth5", "eth7"])
    }

    @Test func `of an interface with two default routes the lower metric counts`() throws {
        network.wire(2, "eth2")
        network.wire(3, "eth3")
        network.wire(4, "eth4")
        network.setDefault(.defaultRoute(2, via: "192.0.2.254"))
        network.setDefault(.defaultRoute(3, via: "192.0.3.254", metric: 500))
        network.setDefault(.defaultRoute(4, via: "192.0.4.254", metric: 400))
        network.setDefault(.defaultRoute(2, via: "fe80::2", metric: 1, family: .v6))
        network.setDefault(.defaultRoute(3, via: "fe80::3", metric: 300, family: .v6))
        #expect(try network.path().names == ["eth2", "eth3", "eth4"])
    }

    @Test func `both families use their own interface, IPv4's first`() throws {
        network.wire(2, "eth2")
        network.wire(3, "eth3")
        network.setDefault(.defaultRoute(3, via: "192.0.2.254"))
        network.setDefault(.defaultRoute(2, via: "fe80::1", family: .v6))
        let path = try network.path()
        #expect(path.names == ["eth3", "eth2"])
        #expect(path.usedInterfaces.map(\.name) == ["eth3", "eth2"])
        #expect(path.gatewayTexts == ["192.0.2.254", "fe80::1%eth2"])
    }

    @Test func `a tunnel that takes the default is first, what it runs over behind it`() throws {
        network.wire(2, "eth0")
        network.setDefault(.defaultRoute(2, via: "192.0.2.254", metric: 100))
        network.tunnel(3, "wg0")
        network.setDefault(.defaultRoute(3, metric: 50))
        let path = try network.path()
        #expect(path.names == ["wg0", "eth0"])
        #expect(path.availableInterfaces.map(\.type) == [.other, .wiredEthernet])
        #expect(path.usesInterfaceType(.other))
        #expect(!path.usesInterfaceType(.wiredEthernet))
        #expect(path.flags == [.reachable, .transientConnection])
    }

    @Test func `every nexthop of a multipath route is used once`() throws {
        network.wire(2, "eth2")
        network.wire(3, "eth3")
        var route = Route.defaultRoute(3, via: "192.0.3.254")
        route.nexthops.append(Nexthop(interfaceIndex: 2, gateway: IPAddress(192, 0, 2, 254)))
        route.nexthops.append(Nexthop(interfaceIndex: 2, gateway: IPAddress(192, 0, 2, 253)))
        network.setDefault(route)
        let path = try network.path()
        #expect(path.usedInterfaces.map(\.name) == ["eth2", "eth3"])
        #expect(path.names == ["eth2", "eth3"])
        #expect(Set(path.gatewayTexts) == ["192.0.2.253", "192.0.2.254", "192.0.3.254"])
    }

    @Test func `a dormant interface requires a connection`() throws {
        network.wire(2, "wlan0") { $0.operationalState = .dormant }
        network.setDefault(.defaultRoute(2, via: "192.0.2.254"))
        let path = try network.path()
        #expect(path.status == .requiresConnection)
        #expect(path.supportsIPv4)
        #expect(path.names == ["wlan0"])
    }

    @Test func `an unplugged cable leaves the path unsatisfied, and the other interface available`() throws {
        network.wire(2, "eth2") { link in
            (link.flags, link.carrier, link.operationalState) = ([.up], false, .down)
        }
        network.setDefault(.defaultRoute(2, via: "192.0.2.254", metric: 1))
        network.wire(3, "eth3")
        network.setDefault(.defaultRoute(3, via: "192.0.3.254", metric: 2))
        let path = try network.path()
        #expect(path.status == .unsatisfied)
        #expect(path.names == ["eth3"])
        #expect(path.usedInterfaces == [])
        #expect(!path.usesInterfaceType(.wiredEthernet))
    }

    @Test func `a VRF is a network of its own`() throws {
        network.wire(5, "vrf0") { link in (link.kind, link.vrfTable) = ("vrf", 77) }
        network.wire(2, "eth2") { link in (link.portKind, link.master) = ("vrf", 5) }
        var route = Route.defaultRoute(2, via: "192.0.2.254")
        route.table = 77
        network.setDefault(route)
        var rule = Rule(family: .v4, priority: 1_000, action: .lookup(table: 0))
        rule.isL3MDev = true
        network.apply(.rule(rule))
        let path = try network.path()
        #expect(path.status == .unsatisfied)
        #expect(path.names == [])
    }

    @Test func `the flags are those of the default path`() throws {
        network.tunnel(2, "wwan0", kind: "wwan")
        network.setDefault(.defaultRoute(2))
        let flags = try NetworkReachability(target: .defaultPath, source: network.source).blockingFlags()
        #expect(try network.path().flags == flags)
        #expect(flags == [.reachable, .transientConnection, .isWWAN])
    }

    @Test func `a query that fails is an error and no path`() throws {
        network.routing.fail(ReachabilityError(operation: "ask", number: 24))
        let error = #expect(throws: ReachabilityError.self) { try network.source.blockingValue(of: .path()) }
        #expect(error?.number == 24)
    }

    // MARK: Costs

    @Test func `a cellular interface is expensive when packets take it`() throws {
        network.tunnel(3, "wwan0", kind: "wwan")
        network.setDefault(.defaultRoute(3, metric: 700))
        #expect(try network.path().isExpensive)
        network.wire(2, "eth0")
        network.setDefault(.defaultRoute(2, via: "192.0.2.254", metric: 100))
        let path = try network.path()
        #expect(!path.isExpensive)
        #expect(path.names == ["eth0", "wwan0"])
    }

    // MARK: Name servers

    @Test func `DNS needs a name server that can be sent to`() throws {
        network.wire(2, "eth0")
        let link = Route(destination: .documentation, nexthops: [Nexthop(interfaceIndex: 2)])
        network.apply(.route(link, .last))
        network.setDefault(.defaultRoute(2, via: "192.0.2.254"))
        #expect(try network.path().supportsDNS)
        network.apply(.route(Route(destination: .documentation, type: .unreachable), .replacing))
        #expect(!(try network.path().supportsDNS))
        network.setNameservers([IPAddress(192, 0, 2, 53), IPAddress(198, 51, 100, 53)])
        #expect(try network.path().supportsDNS)
    }

    @Test(arguments: [[], nil] as [[IPAddress]?])
    func `no name server, or none known, does not support DNS`(servers: [IPAddress]?) throws {
        network.wire(2, "eth0")
        network.setDefault(.defaultRoute(2, via: "192.0.2.254"))
        network.setNameservers(servers)
        #expect(!(try network.path().supportsDNS))
        #expect(try network.path().reachesNameserver == servers.map { _ in false })
    }

    @Test func `a name server on a missing interface does not count`() throws {
        network.wire(2, "eth0")
        network.setDefault(.defaultRoute(2, via: "192.0.2.254"))
        network.setNameservers([IPAddress("fe80::53%eth7")])
        #expect(!(try network.path().supportsDNS))
    }

    @Test func `a path that is unsatisfied has no DNS, whatever server there is`() throws {
        network.setNameservers([.loopbackV4])
        network.apply(
            .route(
                Route(
                    destination: IPPrefix(IPAddress(127, 0, 0, 0), length: 8) ?? .allV4,
                    type: .local,
                    table: Route.localTable,
                    nexthops: [Nexthop(interfaceIndex: 1)]
                ),
                .last
            )
        )
        #expect(!(try network.path().supportsDNS))
        network.wire(2, "eth0")
        network.setDefault(.defaultRoute(2, via: "192.0.2.254"))
        #expect(try network.path().supportsDNS)
    }
}

extension IPPrefix {
    /// 192.0.2.0/24.
    fileprivate static let documentation = IPPrefix.documentation
}
