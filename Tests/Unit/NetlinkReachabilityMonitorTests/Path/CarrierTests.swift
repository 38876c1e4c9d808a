// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import Foundation
import NetlinkReachabilityTestKit
import NetlinkRecording
import RoutingModel
import SystemSupport
import Testing

@testable import NetlinkReachability

/// What carries tunnels, and what follows from it.
struct CarrierTests {
    let network = ScriptedNetwork()

    /// A host with the wires `eth0` (2, 192.0.2.2/24) and `eth1` (3), of which the first has the default route.
    private func addWires() throws {
        network.wire(2, "eth0")
        network.wire(3, "eth1")
        try route("192.0.2.0/24", 2)
        try route("203.0.113.0/24", 3)
    }

    private func route(
        _ prefix: String, _ interface: UInt32, via gateway: String? = nil, table: UInt32 = Route.mainTable
    ) throws {
        network.apply(.route(prefix, via: gateway, dev: interface) { $0.table = table })
    }

    /// Adds a tunnel with ends, and with an address.
    private func tunnel(
        _ index: UInt32, _ name: String, to remote: String, kind: String = "gre",
        change: (inout TunnelEnds) -> Void = { _ in }
    ) {
        var ends = TunnelEnds()
        ends.remote = IPAddress(remote)
        change(&ends)
        network.wire(index, name) { ($0.kind, $0.tunnel) = (kind, Box(ends)) }
        let own = IPAddress(10, 9, UInt8(index), 1)
        let address = InterfaceAddress(interfaceIndex: index, address: own, prefixLength: 24)
        network.routing.change { $0.snapshot.apply(.address(address)) }
    }

    private func cut(_ index: UInt32, _ name: String) {
        network.wire(index, name) { link in
            link.flags.remove(.lowerUp)
            (link.carrier, link.operationalState) = (false, .down)
        }
    }

    private func carriers(mark: UInt32 = 0) throws -> [String] {
        var options = ReachabilityOptions()
        options.mark = mark
        return try network.source.blockingValue(of: .path(options: options)).carriers.map(\.description)
    }

    private func defaultReport() throws -> ReachabilityReport {
        try NetworkReachability(target: .defaultPath, source: network.source).blockingReport()
    }

    // MARK: Exact carriers

    @Test func `a tunnel is carried by the interface of the route to its remote end`() throws {
        try addWires()
        tunnel(4, "gre4", to: "192.0.2.9")
        try route("0.0.0.0/0", 4)
        let path = try network.source.blockingValue(of: .path())
        #expect(path.carriers.map(\.description) == ["gre4 is carried by eth0 (to 192.0.2.9)"])
        #expect(path.carriers.map(\.isExact) == [true])
        #expect(path.status == .satisfied)
        #expect(try defaultReport().carriers == path.carriers)
    }

    @Test func `without a tunnel there is no carrier, and a report is coded without them`() throws {
        try addWires()
        try route("0.0.0.0/0", 2)
        #expect(try carriers() == [])
        let report = try defaultReport()
        #expect(report.carriers == [])
        #expect(!String(decoding: try JSONEncoder().encode(report), as: UTF8.self).contains("carriers"))
    }

    @Test func `a tunnel waits while its carrier cannot send`() throws {
        try addWires()
        tunnel(4, "gre4", to: "192.0.2.9")
        try route("0.0.0.0/0", 4)
        let before = try network.source.blockingValue(of: .path()).flags
        cut(2, "eth0")
        let path = try network.source.blockingValue(of: .path())
        #expect(path.status == .requiresConnection)
        #expect(path.flags == before.union(.connectionRequired))
        #expect(
            path.carriers.map(\.description) == [
                "gre4 is carried by eth0 (to 192.0.2.9): eth0 has no carrier"
            ])
        let report = try defaultReport()
        #expect(report.reason.code == .tunnelWaits)
        #expect(
            report.reason.description == "gre4 waits until its outer packets can leave: eth0 has no carrier")
        #expect(!report.isReachable)
        network.wire(2, "eth0")
        #expect(try network.source.blockingValue(of: .path()).status == .satisfied)
    }

    @Test func `a tunnel whose remote end has no route waits for one`() throws {
        try addWires()
        tunnel(4, "gre4", to: "198.51.100.9")
        try route("10.0.0.0/8", 4)
        let target = NetworkReachability(target: .address("10.1.1.1"), source: network.source)
        #expect(
            try target.blockingReport().reason.description
                == "gre4 waits until its outer packets can leave: no route")
        #expect(
            try target.blockingReport().carriers.map(\.description) == [
                "nothing carries gre4 (to 198.51.100.9): no route"
            ])
        try route("198.51.100.0/24", 3)
        #expect(try target.blockingFlags() == [.reachable, .transientConnection])
    }

    @Test func `a tunnel whose outer packets are encapsulated again is carried by the outermost ones`() throws
    {
        try addWires()
        tunnel(4, "vxlan4", to: "198.51.100.9", kind: "vxlan")
        try route("0.0.0.0/0", 4)
        let nexthop = Nexthop(interfaceIndex: 2, encapsulation: Encapsulation(.seg6, to: "2001:db8:9::9"))
        network.apply(.route("198.51.100.0/24", nexthops: [nexthop]))
        #expect(
            try defaultReport().reason.description
                == "vxlan4 waits until its outer packets can leave: "
                + "the packets around it (seg6 to 2001:db8:9::9) cannot leave: no route")
        try route("2001:db8:9::/48", 3)
        #expect(try carriers() == ["vxlan4 is carried by eth1 (to 198.51.100.9)"])
        #expect(try network.source.blockingValue(of: .path()).status == .satisfied)
        cut(3, "eth1")
        #expect(try network.source.blockingValue(of: .path()).status == .requiresConnection)
    }

    /// `set_tun_src`: a host has its default route for packets from its prefix alone, as OpenWrt has it.
    @Test func `a packet with a routing header has the source that the interface of its route selects`()
        throws
    {
        try addWires()
        let nexthop = Nexthop(interfaceIndex: 2, encapsulation: Encapsulation(.seg6, to: "2001:db8:9::9"))
        network.apply(.route("198.51.100.0/24", nexthops: [nexthop]))
        network.apply(.route("::/0", dev: 3) { $0.source = IPPrefix("2001:db8:8::/64") })
        let target = NetworkReachability(target: .address("198.51.100.1"), source: network.source)
        #expect(try target.blockingReport().reason.code == .outerUnreachable)
        let own = InterfaceAddress(interfaceIndex: 2, address: "2001:db8:8::1", prefixLength: 64)
        network.routing.change { $0.snapshot.apply(.address(own)) }
        let report = try target.blockingReport()
        #expect(report.reason.description == "inside other packets (seg6 to 2001:db8:9::9) on eth1")
    }

    /// Of addresses that fit alike the kernel selects one that no dump shows.
    ///
    /// The tunnel had counted as carried.
    @Test func `a tunnel is undecided with its outer packets, and carried where they leave in any case`()
        throws
    {
        try addWires()
        tunnel(4, "vxlan4", to: "2001:db8:4000::9", kind: "vxlan")
        try route("10.9.4.0/24", 4)
        let target = NetworkReachability(target: .address("10.9.4.9"), source: network.source)
        // eth0 has 2001:db8::2.
        let own = InterfaceAddress(interfaceIndex: 3, address: "2001:db8:8::1", prefixLength: 64)
        network.routing.change { $0.snapshot.apply(.address(own)) }
        func addRoute(_ index: UInt32, from source: String) {
            network.apply(.route("2001:db8:4000::/48", dev: index) { $0.source = IPPrefix(source) })
        }
        addRoute(3, from: "2001:db8:8::/64")
        let error = #expect(throws: ReachabilityError.self) { try target.blockingReport() }
        #expect(error?.code == .undecided && error?.message.contains("2001:db8:4000::9") == true)
        addRoute(2, from: "2001:db8::/64")
        #expect(try target.blockingFlags() == [.reachable, .isDirect])
        #expect(try target.blockingReport().carriers.count == 2)
        cut(2, "eth0")
        #expect(throws: ReachabilityError.self) { try target.blockingFlags() }
        cut(3, "eth1")
        #expect(try target.blockingReport().reason.code == .tunnelWaits)
    }

    @Test func `several nexthops that select sources with different routes are undecided`() throws {
        try addWires()
        let outer = Encapsulation(.seg6, to: "2001:db8:9::9")
        for (index, prefix) in [(2, "2001:db8:8::"), (3, "2001:db8:a::")] as [(UInt32, IPAddress)] {
            let own = InterfaceAddress(interfaceIndex: index, address: prefix, prefixLength: 64)
            network.routing.change { $0.snapshot.apply(.address(own)) }
            network.apply(.route("::/0", dev: index) { $0.source = IPPrefix(prefix, length: 64) })
        }
        let nexthops = [2, 3].map { Nexthop(interfaceIndex: $0, encapsulation: outer) }
        network.apply(.route("198.51.100.0/24", nexthops: [nexthops[0]]))
        network.apply(.route("203.0.113.128/25", nexthops: nexthops))
        func reason(_ address: IPAddress) throws -> String {
            try NetworkReachability(target: .address(address), source: network.source).blockingReport().reason
                .description
        }
        #expect(try reason("198.51.100.1") == "inside other packets (seg6 to 2001:db8:9::9) on eth0")
        let error = #expect(throws: ReachabilityError.self) { try reason("203.0.113.129") }
        #expect(error?.code == .undecided)
    }

    @Test func `an address of another VRF is no source of a packet with a routing header`() throws {
        try addWires()
        let nexthop = Nexthop(interfaceIndex: 3, encapsulation: Encapsulation(.seg6, to: "2001:db8:9::9"))
        network.apply(.route("198.51.100.0/24", nexthops: [nexthop]))
        let inner = InterfaceAddress(interfaceIndex: 3, address: "203.0.113.2", prefixLength: 24)
        network.routing.change { $0.snapshot.apply(.address(inner)) }
        // eth0 has 2001:db8::2.
        network.apply(.route("::/0", dev: 3) { $0.source = IPPrefix("2001:db8::/64") })
        let target = NetworkReachability(target: .address("198.51.100.1"), source: network.source)
        #expect(try target.blockingReport().reason.code == .encapsulated)
        network.wire(5, "red") { $0.kind = "vrf" }
        network.wire(2, "eth0") { ($0.master, $0.portKind) = (5, "vrf") }
        #expect(try target.blockingReport().reason.code == .outerUnreachable)
    }

    /// The tunnel is routed by its own mark, and does not set it on its packets.
    @Test func `the packet around those of a tunnel has the mark of the socket`() throws {
        try addWires()
        tunnel(4, "gre4", to: "198.51.100.9") { $0.mark = 5 }
        try route("0.0.0.0/0", 4)
        let nexthop = Nexthop(interfaceIndex: 2, encapsulation: Encapsulation(.seg6, to: "2001:db8:9::9"))
        network.apply(.route("198.51.100.0/24", nexthops: [nexthop]))
        try route("2001:db8:9::/48", 3)
        try route("2001:db8:9::/48", 2, table: 100)
        network.apply(.rule(.v6, 100, .lookup(table: 100)) { $0.mark = Masked(7) })
        #expect(try carriers() == ["gre4 is carried by eth1 (to 198.51.100.9, mark 5)"])
        #expect(try carriers(mark: 7) == ["gre4 is carried by eth0 (to 198.51.100.9, mark 5)"])
    }

    @Test func `an interface that is no tunnel sends the packets of encap ip as they are`()
        throws
    {
        try addWires()
        let nexthop = Nexthop(interfaceIndex: 3, encapsulation: Encapsulation(.ip, to: "192.0.2.77"))
        network.apply(.route("198.51.100.0/24", nexthops: [nexthop]))
        cut(2, "eth0")
        let target = NetworkReachability(target: .address("198.51.100.1"), source: network.source)
        #expect(try target.blockingReport().reason.description == "on the link of eth1, no gateway needed")
    }

    @Test func `a tunnel with a remote end of its own does not read another one of encap ip`() throws {
        try addWires()
        tunnel(4, "gre4", to: "192.0.2.9")
        let outer = Encapsulation(.ip, to: "198.51.100.77")
        network.apply(
            .route("10.0.0.0/8", nexthops: [Nexthop(interfaceIndex: 4, encapsulation: outer)]))
        let target = NetworkReachability(target: .address("10.1.1.1"), source: network.source)
        #expect(try target.blockingReport().reason.code == .pointToPoint)
    }

    @Test func `a local end that is no address of the host keeps the outer packets from leaving`() throws {
        try addWires()
        tunnel(4, "gre4", to: "192.0.2.9") { $0.local = "192.0.2.77" }
        try route("0.0.0.0/0", 4)
        #expect(try defaultReport().reason.code == .tunnelWaits)
    }

    @Test func `a tunnel that dials when there is traffic makes those above it dial`() throws {
        network.wire(3, "ppp0") { link in
            (link.kind, link.hardwareType, link.operationalState) = ("ppp", .ppp, .dormant)
            link.flags.insert(.pointToPoint)
        }
        tunnel(4, "gre4", to: "198.51.100.9")
        try route("198.51.100.0/24", 3)
        try route("0.0.0.0/0", 4)
        let flags = try network.source.blockingValue(of: .path()).flags
        #expect(flags.contains([.reachable, .connectionRequired, .connectionOnTraffic]))
    }

    /// A recording had the route of another interface, which a tunnel takes only from a local end of its own.
    @Test func `a tunnel over IPv6 that is bound to an interface takes no route of another one`() throws {
        try addWires()
        for (index, own) in [(2, "2001:db8::2"), (3, "2001:db8:1::2")] as [(UInt32, IPAddress)] {
            let address = InterfaceAddress(interfaceIndex: index, address: own, prefixLength: 64)
            network.routing.change { $0.snapshot.apply(.address(address)) }
        }
        try route("2001:db8:9::/48", 2)
        tunnel(4, "vxlan4", to: "2001:db8:9::9", kind: "vxlan") { $0.link = 3 }
        try route("0.0.0.0/0", 4)
        #expect(try defaultReport().reason.code == .tunnelWaits)
        tunnel(4, "vxlan4", to: "2001:db8:9::9", kind: "vxlan") { ($0.link, $0.local) = (3, "2001:db8:1::2") }
        #expect(try carriers() == ["vxlan4 is carried by eth0 (to 2001:db8:9::9)"])
    }

    @Test func `the mark of a tunnel selects its carrier`() throws {
        try addWires()
        tunnel(4, "gre4", to: "192.0.2.9") { $0.mark = 7 }
        try route("0.0.0.0/0", 4)
        try route("0.0.0.0/0", 3, via: "203.0.113.254", table: 100)
        network.apply(.rule(.v4, 100, .lookup(table: 100)) { $0.mark = Masked(7) })
        #expect(try carriers() == ["gre4 is carried by eth1 (to 192.0.2.9, mark 7)"])
    }

    @Test func `a tunnel without a mark of its own has that of the socket`() throws {
        try addWires()
        tunnel(4, "vx4", to: "192.0.2.9", kind: "vxlan") { $0.mark = nil }
        try route("0.0.0.0/0", 4)
        try route("192.0.2.0/24", 3, table: 100)
        network.apply(.rule(.v4, 100, .lookup(table: 100)) { $0.mark = Masked(7) })
        #expect(try carriers() == ["vx4 is carried by eth0 (to 192.0.2.9)"])
        #expect(try carriers(mark: 7) == ["vx4 is carried by eth1 (to 192.0.2.9, mark 7)"])
    }

    @Test func `the link of a tunnel binds its packets`() throws {
        try addWires()
        tunnel(4, "vx4", to: "192.0.2.9", kind: "vxlan") { $0.link = 3 }
        try route("0.0.0.0/0", 4)
        // No route of eth1 leads there: the kernel takes the remote end to be on the link.
        #expect(try carriers() == ["vx4 is carried by eth1 (to 192.0.2.9)"])
    }

    @Test func `what carries a tunnel of another network namespace is not known`() throws {
        try addWires()
        tunnel(4, "gre4", to: "198.51.100.9")
        network.wire(4, "gre4") { link in
            var ends = TunnelEnds()
            ends.remote = "198.51.100.9"
            (link.kind, link.tunnel, link.lowerIsForeign) = ("gre", Box(ends), true)
        }
        try route("0.0.0.0/0", 4)
        #expect(try carriers() == ["what carries gre4 is not known"])
        #expect(try network.source.blockingValue(of: .path()).status == .satisfied)
    }

    // MARK: Tunnels in tunnels

    @Test func `a tunnel in a tunnel has the carriers of both`() throws {
        try addWires()
        tunnel(4, "gre4", to: "192.0.2.9")
        tunnel(5, "gre5", to: "10.9.4.9")
        try route("10.9.4.0/24", 4)
        try route("0.0.0.0/0", 5)
        #expect(
            try carriers() == [
                "gre5 is carried by gre4 (to 10.9.4.9)", "gre4 is carried by eth0 (to 192.0.2.9)",
            ])
        cut(2, "eth0")
        #expect(try network.source.blockingValue(of: .path()).status == .requiresConnection)
    }

    @Test func `a tunnel whose outer packets lead back into it waits`() throws {
        try addWires()
        tunnel(4, "gre4", to: "10.1.1.1")
        try route("0.0.0.0/0", 4)
        #expect(
            try defaultReport().reason.description
                == "gre4 waits until its outer packets can leave: they lead back into gre4")
    }

    @Test func `tunnels that lead into each other wait`() throws {
        try addWires()
        tunnel(4, "gre4", to: "10.5.5.5")
        tunnel(5, "gre5", to: "10.4.4.4")
        try route("10.5.0.0/16", 5)
        try route("10.4.0.0/16", 4)
        try route("0.0.0.0/0", 4)
        #expect(try defaultReport().reason.code == .tunnelWaits)
        #expect(try network.source.blockingValue(of: .path()).carriers.count == 2)
    }

    @Test func `a long chain of tunnels is followed up to a limit`() throws {
        try addWires()
        for index in 10..<40 as Range<UInt32> {
            tunnel(index, "gre\(index)", to: "10.200.\(index).9")
            try route("10.200.\(index).0/24", index + 1)
        }
        try route("0.0.0.0/0", 10)
        #expect(try network.source.blockingValue(of: .path()).carriers.count == CarrierKey.depthLimit + 2)
    }

    /// Those within more than three had been reachable, and the kernel drops them ("Dead loop on virtual device").
    @Test(arguments: [
        (3, false, ReachabilityReason.Code.pointToPoint), (4, false, .tunnelWaits),
        // WireGuard's own thread sends its packets.
        (5, true, .pointToPoint), (7, true, .tunnelWaits),
    ])
    func `the kernel sends through three tunnels in each other`(
        count: UInt32, isWireGuard: Bool, code: ReachabilityReason.Code
    ) throws {
        try addWires()
        for index in 10..<10 + count {
            let name = "t\(index)"
            tunnel(index, name, to: index == 10 ? "192.0.2.9" : "10.200.\(index).9", kind: "ipip")
            if index == 12, isWireGuard {
                network.wire(index, name) { $0.kind = "wireguard" }
                var (peers, ends) = (WireGuardPeers(), TunnelEnds())
                ends.remote = IPAddress(10, 200, 12, 9)
                peers.allow(.allV4, ends)
                let found = peers
                network.routing.script { $0.wireGuardPeers[index] = found }
            }
            try route("10.200.\(index + 1).0/24", index)
        }
        try route("0.0.0.0/0", 9 + count)
        let reason = try defaultReport().reason
        #expect(reason.code == code)
        if code == .tunnelWaits {
            #expect(reason.other == "the kernel sends through 3 tunnels in each other at most")
        }
    }

    @Test func `a tunnel in tunnels names what the outermost waits for`() throws {
        try addWires()
        tunnel(4, "gre4", to: "192.0.2.9")
        for index in 5...6 as ClosedRange<UInt32> {
            tunnel(index, "gre\(index)", to: "10.9.\(index - 1).9")
            try route("10.9.\(index - 1).0/24", index - 1)
        }
        try route("0.0.0.0/0", 6)
        cut(2, "eth0")
        #expect(
            try defaultReport().reason.description
                == "gre6 waits until its outer packets can leave: eth0 has no carrier")
    }

    /// As of flannel and EVPN: the forwarding table or each packet has the remote end.
    @Test
    func `a tunnel that is bound to an interface waits for that one's carrier, also without a remote end`()
        throws
    {
        try addWires()
        tunnel(4, "vxlan4", to: "192.0.2.9", kind: "vxlan") { ($0.remote, $0.link) = (nil, 2) }
        try route("0.0.0.0/0", 4)
        #expect(try defaultReport().flags.contains(.reachable))
        #expect(try !defaultReport().flags.contains(.connectionRequired))
        cut(2, "eth0")
        #expect(try defaultReport().flags.contains(.connectionRequired))
        #expect(
            try defaultReport().reason.description
                == "vxlan4 waits until its outer packets can leave: eth0 has no carrier")
    }

    /// `ip_route_output_key_hash_rcu` refuses the source, and the tunnel had counted as carried.
    @Test(arguments: ["203.0.113.77", "2001:db8:77::77"])
    func `a tunnel with a local end that the host does not have sends nothing without a remote end`(
        local: String
    ) throws {
        try addWires()
        let isIPv4 = !local.contains(":")
        tunnel(4, "vxlan4", to: "", kind: "vxlan") { $0.local = IPAddress(local) }
        try route("0.0.0.0/0", 4)
        #expect(
            try defaultReport().reason.description
                == "vxlan4 waits until its outer packets can leave: "
                + "the source \(local) is not an address of this host")
        tunnel(4, "vxlan4", to: "", kind: "vxlan") {
            $0.local = isIPv4 ? IPAddress(192, 0, 2, 2) : IPAddress("2001:db8::2")
        }
        network.apply(.route("192.0.2.2/32", dev: 2) { ($0.type, $0.table) = (.local, Route.localTable) })
        #expect(try !defaultReport().flags.contains(.connectionRequired))
    }

    /// Only bind(2) needs the route.
    @Test(arguments: ["203.0.113.9", ""])
    func `a tunnel sends from a local end that has no route in the local table`(remote: String) throws {
        try addWires()
        let own = InterfaceAddress(interfaceIndex: 2, address: IPAddress(192, 0, 2, 2), prefixLength: 24)
        network.routing.change { $0.snapshot.apply(.address(own)) }
        tunnel(4, "vxlan4", to: remote, kind: "vxlan") { $0.local = own.address }
        try route("0.0.0.0/0", 4)
        #expect(try !defaultReport().flags.contains(.connectionRequired))
    }

    /// `ip6_tnl_xmit_ctl`: nothing leaves, and the carrier was one that can send.
    @Test(arguments: ["ip6tnl", "ip6gre", "ip6gretap", "ip6erspan"])
    func `an IPv6 tunnel without a local end sends nothing`(kind: String) throws {
        try addWires()
        try route("2001:db8::/32", 2)
        let own = InterfaceAddress(interfaceIndex: 2, address: "2001:db8::1", prefixLength: 64)
        network.routing.change { $0.snapshot.apply(.address(own)) }
        tunnel(4, "tunnel4", to: "2001:db8::9", kind: kind)
        try route("0.0.0.0/0", 4)
        #expect(try defaultReport().flags.contains(.connectionRequired))
        #expect(
            try defaultReport().reason.description
                == "tunnel4 waits until its outer packets can leave: "
                + "the source :: is not an address of this host")
        tunnel(4, "tunnel4", to: "2001:db8::9", kind: kind) { $0.local = "2001:db8::1" }
        #expect(try !defaultReport().flags.contains(.connectionRequired))
    }

    @Test func `evaluating a chain of tunnels that targets enter everywhere ends at a limit`() throws {
        try addWires()
        cut(2, "eth0")
        var addresses: [IPAddress] = []
        for index in 10..<40 as Range<UInt32> {
            tunnel(index, "gre\(index)", to: "10.200.\(index).9")
            try route("10.200.\(index).0/24", index < 39 ? index + 1 : 2)
            try route("10.100.\(index).0/24", index)
            addresses.append(IPAddress(10, 100, UInt8(index), 1))
        }
        let batch = EvaluatedTargets(network.source.facts, flagsOf: addresses)
        #expect(try batch.flags(0).contains(.connectionRequired))
        #expect(try batch.flags(29).contains(.connectionRequired))
    }

    @Test(arguments: [CarrierKey.nexthopLimit, CarrierKey.nexthopLimit + 1])
    func `a route with many nexthops is not followed into tunnels`(count: Int) throws {
        try addWires()
        let tunnels = 10..<(10 + UInt32(count))
        for index in tunnels { tunnel(index, "gre\(index)", to: "192.0.2.9") }
        network.apply(.route("0.0.0.0/0", nexthops: tunnels.map { Nexthop(interfaceIndex: $0) }))
        let target = NetworkReachability(target: .address("10.1.1.1"), source: network.source)
        #expect(try target.blockingFlags().contains(.reachable))
        let isFollowed = network.routing.takeAsked().contains("192.0.2.9")
        #expect(isFollowed == (count <= CarrierKey.nexthopLimit))
    }

    // MARK: Batches

    @Test func `targets behind one tunnel share the lookup of its carrier`() throws {
        try addWires()
        tunnel(4, "gre4", to: "192.0.2.9")
        try route("0.0.0.0/0", 4)
        _ = network.routing.takeAsked()
        _ = EvaluatedTargets(network.source.facts, flagsOf: (1...50).map { IPAddress(10, 0, 0, $0) })
        #expect(network.routing.takeAsked().filter { $0 == "192.0.2.9" }.count == 1)
    }

    @Test func `an answer depends on the route of the outer packets`() throws {
        try addWires()
        tunnel(4, "gre4", to: "198.51.100.9")
        try route("0.0.0.0/0", 4)
        try route("198.51.100.0/24", 3)
        let batch = EvaluatedTargets(network.source.facts, flagsOf: ["10.1.1.1"])
        #expect(batch.addresses(0).contains("198.51.100.9"))
    }

    @Test func `flags do not depend on what a report infers`() throws {
        try addWires()
        network.tunnel(4, "tun0", kind: "tun")
        try route("0.0.0.0/0", 4)
        try route("203.0.113.5/32", 2, via: "192.0.2.254")
        let batch = EvaluatedTargets(
            network.source.facts, [(.address("10.1.1.1"), .flags), (.address("10.1.1.1"), .full)])
        for (target, depends) in [(0, false), (1, true)] {
            #expect(batch.addresses(target).contains("203.0.113.5") == depends)
        }
    }

    // MARK: WireGuard

    /// The wires and wg0, whose table is 51820 for packets without the mark, as wg-quick configures it, with two peers:
    /// one for all addresses, and one for 10.7.0.0/16 behind the other wire.
    private func addWireGuard(_ change: (inout WireGuardPeers) -> Void = { _ in }) throws {
        try addFullTunnel()
        setPeers(4) { peers in
            peers.allow(.allV4, ends("192.0.2.9"))
            peers.allow("10.7.0.0/16", ends("203.0.113.9"))
            change(&peers)
        }
    }

    private func ends(_ remote: String, mark: UInt32 = 51_820) -> TunnelEnds {
        var ends = TunnelEnds()
        (ends.remote, ends.mark) = (IPAddress(remote), mark)
        (ends.sourcePort, ends.destinationPort) = (41_000, 51_820)
        return ends
    }

    private func setPeers(_ index: UInt32, _ change: (inout WireGuardPeers) -> Void) {
        var peers = WireGuardPeers()
        change(&peers)
        let made = peers
        network.routing.script { $0.wireGuardPeers[index] = made }
    }

    private func report(_ address: IPAddress) throws -> ReachabilityReport {
        try NetworkReachability(target: .address(address), source: network.source).blockingReport()
    }

    @Test func `a WireGuard peer is carried by the interface of the route to its endpoint`() throws {
        try addWireGuard()
        let path = try network.source.blockingValue(of: .path())
        #expect(path.carriers.map(\.description) == ["wg0 is carried by eth0 (to 192.0.2.9, mark 51820)"])
        #expect(path.carriers.map(\.evidence) == [.endpoint])
        #expect(path.carriers.map(\.isExact) == [true])
        #expect(
            try report("10.7.1.1").carriers.map(\.description)
                == ["wg0 is carried by eth1 (to 203.0.113.9, mark 51820)"])
    }

    @Test func `a destination waits for the carrier of its own peer alone`() throws {
        try addWireGuard()
        cut(3, "eth1")
        let batch = EvaluatedTargets(
            network.source.facts,
            [
                (.address("10.7.1.1"), .flags), (.address("10.8.1.1"), .flags),
                (.address("10.7.1.1"), .full), (.address("10.8.1.1"), .full),
            ])
        for (target, waits) in [true, false, true, false].enumerated() {
            #expect(try batch.flags(target).contains(.connectionRequired) == waits)
        }
        #expect(try report("10.7.1.1").reason.code == .tunnelWaits)
        #expect(
            try report("10.7.1.1").reason.description
                == "wg0 waits until its outer packets can leave: eth1 has no carrier")
        let other = try #require(try batch.report(3))
        #expect(other.carriers.map(\.description) == ["wg0 is carried by eth0 (to 192.0.2.9, mark 51820)"])
    }

    @Test func `packets for a peer without an endpoint wait until it has one, and nothing is inferred`()
        throws
    {
        try addWireGuard { $0.allow("10.6.0.0/16", nil) }
        let waiting = try report("10.6.1.1")
        #expect(waiting.flags == [.reachable, .transientConnection, .connectionRequired])
        #expect(
            waiting.reason.description
                == "wg0 waits until its outer packets can leave: the peer for 10.6.1.1 has no endpoint yet")
        #expect(
            waiting.carriers.map(\.description)
                == ["nothing carries wg0: the peer for 10.6.1.1 has no endpoint yet"])
        #expect(waiting.carriers.first?.reason?.code == .noEndpoint)
        #expect(try report("10.8.1.1").isReachable)
    }

    @Test func `without a peer for it, a target is not reachable, for flags and for a report`() throws {
        try addWireGuard()
        setPeers(4) { $0.allow("10.7.0.0/16", ends("203.0.113.9")) }
        let target = NetworkReachability(target: .address("10.6.1.1"), source: network.source)
        #expect(try target.blockingFlags() == [])
        #expect(try target.blockingReport(.brief).reason.code == .noPeer)
        let full = try target.blockingReport()
        #expect(full.reason.description == "wg0 has no peer for 10.6.1.1")
        #expect(full.interface?.name == "wg0")
        #expect(full.carriers.map(\.description) == ["nothing carries wg0: wg0 has no peer for 10.6.1.1"])
        #expect(try report("10.7.1.1").isReachable)
        #expect(try network.source.blockingValue(of: .path()).status == .unsatisfied)
    }

    /// The outer packet of one tunnel is inside another one.
    @Test func `a tunnel whose remote end no peer has waits`() throws {
        try addWireGuard()
        setPeers(4) { $0.allow("10.7.0.0/16", ends("203.0.113.9")) }
        tunnel(5, "gre5", to: "10.6.1.1")
        try route("10.5.0.0/16", 5, table: 51_820)
        #expect(
            try report("10.5.1.1").reason.description
                == "gre5 waits until its outer packets can leave: wg0 has no peer for 10.6.1.1")
    }

    @Test func `the peer of an outer packet decides, in flags and in a report`() throws {
        try addWires()
        network.tunnel(4, "wg0")
        let own = InterfaceAddress(interfaceIndex: 4, address: "2001:db8:9::1", prefixLength: 64)
        network.routing.change { $0.snapshot.apply(.address(own)) }
        try route("2001:db8:9::/64", 4)
        let nexthop = Nexthop(interfaceIndex: 4, encapsulation: Encapsulation(.seg6, to: "2001:db8:9::9"))
        network.apply(.route("2001:db8:5::/48", nexthops: [nexthop]))
        setPeers(4) { peers in
            peers.allow("2001:db8:9::/64", ends("192.0.2.9", mark: 0))
            peers.allow("2001:db8:5::/48", ends("203.0.113.9", mark: 0))
        }
        let target: IPAddress = "2001:db8:5::1"
        cut(3, "eth1")
        #expect(try report(target).flags == [.reachable, .transientConnection])
        #expect(try report(target).carriers.map(\.description) == ["wg0 is carried by eth0 (to 192.0.2.9)"])
        cut(2, "eth0")
        let waiting = try report(target)
        #expect(waiting.flags == [.reachable, .transientConnection, .connectionRequired])
        #expect(
            waiting.reason.description == "wg0 waits until its outer packets can leave: eth0 has no carrier")
        #expect(
            waiting.carriers.map(\.description)
                == ["wg0 is carried by eth0 (to 192.0.2.9): eth0 has no carrier"])
        setPeers(4) { $0.allow("2001:db8:5::/48", ends("203.0.113.9", mark: 0)) }
        #expect(try report(target).reason.code == .outerUnreachable)
    }

    /// All 256 targets were evaluated again.
    @Test func `a change of the route to one endpoint evaluates the targets of its own peer again`()
        async
        throws
    {
        try addWires()
        network.tunnel(4, "wg0")
        try route("10.0.0.0/8", 4)
        try route("198.51.100.0/24", 3)
        let targets = (0...UInt8.max).map { IPAddress(10, 7, 0, $0) }
        setPeers(4) { peers in
            for (host, target) in targets.enumerated() {
                guard let prefix = IPPrefix(target, length: 32) else { continue }
                peers.allow(prefix, ends("198.51.100.\(host)", mark: 0))
            }
        }
        let lines = Locked<[String]>([])
        let source = network.source.tracing { trace in lines.withLock { $0.append("\(trace)") } }
        let queries = targets.map { NetworkQuery.flags(of: .address($0)) }
        let observation = try source.observe(queries, on: .onMonitorThread) { _, _ in }
        await source.monitor.settle()
        network.clock.advance(by: .seconds(1))
        lines.withLock { $0 = [] }
        try route("198.51.100.7/32", 2)
        await source.monitor.settle()
        observation.cancel()
        let carried = "\(ReachabilityFlags([.reachable, .transientConnection]).letters)"
        #expect(
            lines.withLock(\.self) == ["flags of 10.7.0.7: \(carried) (no change, after a notification)"])
    }

    /// WireGuard sends no notification of its peers.
    @Test func `a target without a peer is evaluated again after five seconds`() async throws {
        try addWires()
        network.tunnel(4, "wg0")
        try route("10.0.0.0/8", 4)
        setPeers(4) { _ in }
        let values = Locked<[ReachabilityFlags]>([])
        let query = NetworkQuery.flags(of: .address("10.7.0.1"))
        let observation = try network.source.observe(query, on: .onMonitorThread) { result in
            if let flags = try? result.get() { values.withLock { $0.append(flags) } }
        }
        await network.source.monitor.settle()
        setPeers(4) { $0.allow("10.7.0.0/16", ends("203.0.113.9", mark: 0)) }
        network.clock.advance(by: .seconds(6))
        await network.source.monitor.settle()
        observation.cancel()
        #expect(values.withLock(\.self) == [[], [.reachable, .transientConnection]])
    }

    /// Five seconds, in 1/100 s.
    @Test func `a target is evaluated again also if the tunnel around its own has no peer`() throws {
        try addWireGuard()
        tunnel(5, "gre5", to: "10.7.1.1")
        try route("10.5.0.0/16", 5, table: 51_820)
        for (change, lifetime) in [
            ({ _ in }, 500), ({ $0.allow("10.7.0.0/16", self.ends("203.0.113.9")) }, nil),
        ] as [((inout WireGuardPeers) -> Void, Int32?)] {
            setPeers(4, change)
            let batch = EvaluatedTargets(network.source.facts, flagsOf: ["10.5.1.1"])
            #expect(batch.dependencies[0].lifetime == lifetime)
        }
    }

    /// All that carries a tunnel counts, also the tunnel around it.
    @Test func `an answer depends on the routes of the tunnels around its own`() throws {
        try addWireGuard()
        tunnel(5, "gre5", to: "10.7.1.1")
        try route("10.5.0.0/16", 5, table: 51_820)
        let batch = EvaluatedTargets(network.source.facts, flagsOf: ["10.5.1.1", "10.8.1.1"])
        for (target, expected) in [
            (0, ["10.5.1.1", "10.7.1.1", "203.0.113.9"]), (1, ["10.8.1.1", "192.0.2.9"]),
        ] as [(Int, Set<IPAddress>)] {
            #expect(batch.addresses(target) == expected)
        }
    }

    @Test func `where the peers are not shown, packets count as carried`() throws {
        try addFullTunnel()
        #expect(try report("10.6.1.1").isReachable)
    }

    @Test func `an endpoint is looked up with the mark and the ports of the interface`() throws {
        try addWireGuard()
        _ = try network.source.blockingValue(of: .path())
        let outer = network.routing.queries.filter { $0.destination == "192.0.2.9" }
        #expect(!outer.isEmpty)
        for query in outer {
            #expect(query.mark == 51_820 && query.user == 0 && query.ipProtocol == 17)
            #expect(query.sourcePort == 41_000 && query.destinationPort == 51_820)
        }
    }

    @Test func `packets of WireGuard have its mark in the tunnel around it`() throws {
        try addWireGuard()
        tunnel(5, "vx5", to: "203.0.113.9", kind: "vxlan") { $0.mark = nil }
        try route("192.0.2.9/32", 5)
        // The mark inside is 0, and would lead to eth1.
        try route("203.0.113.9/32", 2, via: "192.0.2.254", table: 100)
        network.apply(.rule(.v4, 99, .lookup(table: 100)) { $0.mark = Masked(51_820) })
        try route("192.0.2.9/32", 5, table: 100)
        #expect(
            try carriers() == [
                "wg0 is carried by vx5 (to 192.0.2.9, mark 51820)",
                "vx5 is carried by eth0 (to 203.0.113.9, mark 51820)",
            ])
    }

    @Test func `an endpoint behind the tunnel itself makes it wait`() throws {
        try addWires()
        network.tunnel(4, "wg0")
        try route("0.0.0.0/0", 4)
        setPeers(4) { $0.allow(.allV4, ends("198.51.100.9", mark: 0)) }
        #expect(
            try defaultReport().reason.description
                == "wg0 waits until its outer packets can leave: they lead back into wg0")
    }

    /// The peer has the destination of the packets around those to its endpoint, and not the endpoint.
    @Test func `an endpoint behind the tunnel itself, in other packets, makes it wait`() throws {
        try addWires()
        network.tunnel(4, "wg0")
        try route("10.1.0.0/16", 4)
        try route("2001:db8:9::/48", 4)
        let nexthop = Nexthop(interfaceIndex: 2, encapsulation: Encapsulation(.seg6, to: "2001:db8:9::9"))
        network.apply(.route("198.51.100.0/24", nexthops: [nexthop]))
        setPeers(4) { peers in
            for prefix in ["10.1.0.0/16", "2001:db8:9::/48"] as [IPPrefix] {
                peers.allow(prefix, ends("198.51.100.9", mark: 0))
            }
        }
        #expect(
            try report("10.1.1.1").reason.description
                == "wg0 waits until its outer packets can leave: they lead back into wg0")
    }

    @Test func `where the peers cannot be listed, the answer is an error`() throws {
        try addWireGuard()
        network.routing.script { $0.peersError = Self.failure }
        let target = NetworkReachability(target: .address("10.1.1.1"), source: network.source)
        #expect(throws: Self.failure) { try target.blockingFlags() }
        #expect(throws: Self.failure) { try carriers() }
    }

    // MARK: Inferred carriers

    /// A tunnel for all packets but those of a mark, as wg-quick configures it.
    private func addFullTunnel() throws {
        try addWires()
        try route("0.0.0.0/0", 2, via: "192.0.2.254")
        network.tunnel(4, "wg0")
        try route("0.0.0.0/0", 4, table: 51_820)
        network.apply(
            .rule(.v4, 32_765, .lookup(table: 51_820)) {
                $0.mark = Masked(51_820)
                $0.isInverted = true
            })
    }

    @Test func `packets with the mark that a rule keeps out of the tunnel's table carry it`() throws {
        try addFullTunnel()
        let carriers = try network.source.blockingValue(of: .path()).carriers
        #expect(carriers.map(\.description) == ["wg0 is carried by eth0 (mark 51820; inferred from a rule)"])
        #expect(carriers.map(\.isExact) == [false])
    }

    @Test func `an inferred carrier that cannot send changes no flag`() throws {
        try addFullTunnel()
        let before = try network.source.blockingValue(of: .path()).flags
        cut(2, "eth0")
        #expect(
            try carriers()
                == ["wg0 is carried by eth0 (mark 51820; inferred from a rule): eth0 has no carrier"])
        #expect(try network.source.blockingValue(of: .path()).flags == before)
    }

    @Test func `a rule that sends a masked mark to the main table shows the carrier`() throws {
        try addWires()
        try route("0.0.0.0/0", 2, via: "192.0.2.254")
        network.tunnel(4, "tailscale0", kind: "tun")
        try route("0.0.0.0/0", 4, table: 52)
        network.apply(
            .rule(.v4, 5_210, .lookup(table: Route.mainTable)) { $0.mark = Masked(0x8_0000, mask: 0xff_0000) }
        )
        network.apply(.rule(.v4, 5_270, .lookup(table: 52)))
        #expect(try carriers() == ["tailscale0 is carried by eth0 (mark 524288; inferred from a rule)"])
    }

    /// The rule's mark was taken for that of the outer packets, which have none or another.
    @Test(arguments: ["xfrm", "vti", "vti6"])
    func `the mark of a rule shows nothing about a tunnel of IPsec`(kind: String) throws {
        try addWires()
        try route("0.0.0.0/0", 2, via: "192.0.2.254")
        network.tunnel(4, "ipsec0", kind: kind)
        try route("0.0.0.0/0", 4, table: 52)
        network.apply(.rule(.v4, 100, .lookup(table: Route.mainTable)) { $0.mark = Masked(7) })
        network.apply(.rule(.v4, 200, .lookup(table: 52)))
        #expect(try carriers() == ["what carries ipsec0 is not known"])
    }

    @Test func `of many marks past a table, those that rules keep out of it come first, each once`() {
        func rule(_ mark: UInt32, _ table: UInt32, isInverted: Bool) -> Rule {
            var rule = Rule(family: .v4, priority: mark, action: .lookup(table: table))
            (rule.mark, rule.isInverted) = (Masked(mark), isInverted)
            return rule
        }
        let sent = (0...100).map { rule($0, Route.mainTable, isInverted: false) }
        let excluded = (1...3).map { rule($0, 52, isInverted: true) }
        #expect(sent.marks(pastTable: 52) == Array(1...100))
        #expect((sent + excluded).marks(pastTable: 52) == Array(1...100))
        let others = [rule(200, 52, isInverted: true), rule(7, Route.mainTable, isInverted: true)]
        #expect((sent + others).marks(pastTable: 52) == [200] + Array(1...100))
    }

    @Test(arguments: [["0.0.0.0/1", "128.0.0.0/1"], ["0.0.0.0/0"]])
    func `a host route beside the routes for all addresses shows the carrier`(prefixes: [String]) throws {
        try addWires()
        network.tunnel(4, "tun0", kind: "tun")
        for prefix in prefixes { try route(prefix, 4) }
        #expect(try carriers() == ["what carries tun0 is not known"])
        try route("203.0.113.5/32", 2, via: "192.0.2.254")
        #expect(try carriers() == ["tun0 is carried by eth0 (to 203.0.113.5; inferred from a host route)"])
    }

    /// The packets of the tunnel's own socket do not have the source that selects the table.
    @Test func `a host route in a table that the outer packets do not use shows no carrier`() throws {
        try addWires()
        try route("0.0.0.0/0", 2, via: "192.0.2.254")
        network.tunnel(4, "tun0", kind: "tun")
        let own = IPAddress(10, 8, 0, 2)
        let source = try #require(IPPrefix(own, length: 32))
        let address = InterfaceAddress(interfaceIndex: 4, address: own, prefixLength: 24)
        network.routing.change { $0.snapshot.apply(.address(address)) }
        network.apply(
            .route("10.8.0.2/32", dev: 4) {
                ($0.type, $0.table, $0.scope) = (.local, Route.localTable, .host)
            })
        network.apply(.rule(.v4, 100, .lookup(table: 100)) { $0.source = source })
        try route("0.0.0.0/0", 4, table: 100)
        try route("198.51.100.5/32", 3, table: 100)
        var options = ReachabilityOptions()
        options.sourceAddress = own
        let path = try network.source.blockingValue(of: .path(options: options))
        #expect(path.carriers.map(\.description) == ["what carries tun0 is not known"])
    }

    @Test func `of many routes to hosts, 256 are looked up`() throws {
        try addWires()
        network.tunnel(4, "tun0", kind: "tun")
        try route("0.0.0.0/0", 4)
        for number in 0..<300 { try route("10.200.\(number / 250).\(number % 250 + 1)/32", 2) }
        #expect(try carriers().count == 256)
    }

    @Test func `of many marks that rules keep out of a tunnel's table, eight are looked up`() throws {
        try addFullTunnel()
        for mark in 1...9 as ClosedRange<UInt32> {
            network.apply(
                .rule(.v4, 1_000 + mark, .lookup(table: Route.mainTable)) { $0.mark = Masked(mark) })
        }
        let marks = try network.source.blockingValue(of: .path()).carriers.compactMap(\.mark)
        #expect(Set(marks).count == 8)
    }

    @Test func `a brief report and flags infer nothing`() throws {
        try addFullTunnel()
        _ = network.routing.takeAsked()
        let target = NetworkReachability(target: .address("10.1.1.1"), source: network.source)
        #expect(try target.blockingReport(.brief).carriers == [])
        #expect(network.routing.takeAsked().count == 1)
    }

    @Test func `a tunnel in a tunnel has the carrier that is shown and the one that is inferred`() throws {
        try addFullTunnel()
        tunnel(5, "gre5", to: "10.9.4.9")
        try route("10.0.0.0/8", 5, table: 51_820)
        try route("10.9.4.9/32", 4, table: 51_820)
        let target = NetworkReachability(target: .address("10.1.1.1"), source: network.source)
        #expect(try target.blockingReport().carriers.map(\.evidence) == [.remote, .rule])
    }

    // MARK: Failures

    private static let failure = ReachabilityError(operation: "ask in a test", number: 105)

    @Test func `a failed lookup around the outer packets is no answer`() throws {
        try addWires()
        tunnel(4, "gre4", to: "192.0.2.9")
        tunnel(5, "gre5", to: "10.9.4.9")
        try route("10.9.4.0/24", 4)
        try route("0.0.0.0/0", 5)
        network.routing.script { $0.answers["192.0.2.9"] = [.error(Self.failure)] }
        let target = NetworkReachability(target: .address("10.1.1.1"), source: network.source)
        #expect(throws: Self.failure) { try target.blockingFlags() }
        #expect(throws: Self.failure) { try carriers() }
    }

    @Test func `where the rules cannot be listed, what carries a tunnel is an error`() throws {
        try addFullTunnel()
        network.routing.script { $0.rulesError = Self.failure }
        #expect(throws: Self.failure) { try carriers() }
    }

    @Test func `a failed lookup by a rule is an error`() throws {
        try addFullTunnel()
        let target = NetworkReachability(target: .address("10.1.1.1"), source: network.source)
        #expect(try target.blockingReport().carriers.map(\.evidence) == [.rule])
        network.routing.script { $0.answers[IPAddress(206, 0, 0, 1)] = [.error(Self.failure)] }
        #expect(throws: Self.failure) { try target.blockingReport() }
    }

    // MARK: Costs

    @Test func `a tunnel over a modem is expensive`() throws {
        try addFullTunnel()
        #expect(try !network.source.blockingValue(of: .path()).isExpensive)
        network.tunnel(5, "wwan0", kind: "wwan")
        network.apply(.removedRoute(.defaultRoute(2, via: "192.0.2.254")))
        try route("0.0.0.0/0", 5)
        #expect(try network.source.blockingValue(of: .path()).isExpensive)
    }

    @Test func `the cost of a carrier is that of the path`() throws {
        try addFullTunnel()
        let metering = NetworkMetering { $0.name == "eth0" ? [.expensive, .constrained] : .free }
        let path = try network.source.blockingValue(of: .path(metering: metering))
        #expect(path.isExpensive && path.isConstrained)
        #expect(path.usedInterfaces.map(\.name) == ["wg0"])
    }
}
