// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import NetlinkRecording
import RoutingModel
import Testing

/// What settings of interfaces do to routes without a carrier; each was tried on a kernel.
struct SnapshotSettingsTests {
    private static let down: NexthopFlags = .linkDown

    /// A host whose `eth1` has no carrier, with a better route through it and a worse one through `eth0`.
    private static func host(_ changes: NetworkChange...) -> NetworkSnapshot {
        var host = makeHost(
            .link(
                LinkReport(
                    Link(index: 3, name: "eth1", flags: [.up], settings: RoutingSettings(ipv6Forwards: false))
                )),
            address(IPAddress(192, 0, 2, 2), dev: 3), address("2001:db8::2", dev: 3),
            .route("10.0.0.0/8", nexthops: [Nexthop(interfaceIndex: 3, flags: down)], metric: 5),
            .route("10.0.0.0/8", dev: 2, metric: 50),
            .route("2001:db8:f::/48", nexthops: [Nexthop(interfaceIndex: 3, flags: down)], metric: 5),
            .route("2001:db8:f::/48", dev: 2, metric: 50)
        )
        // As of a dump that shows nothing of it.
        host.settings = RoutingSettings()
        host.settings.ipv6Forwards = false
        for change in changes { host.apply(change) }
        return host
    }

    private static func address(_ address: IPAddress, dev index: UInt32) -> NetworkChange {
        .address(InterfaceAddress(interfaceIndex: index, address: address, prefixLength: 24))
    }

    private static func ignoring(
        _ family: IPAddress.Family,
        _ place: SettingsReport.Place,
        _ ignores: Bool
    ) -> NetworkChange {
        .settings(.ignoring(family, place, ignores))
    }

    @Test func `without the settings a route without a carrier is undecided where another way is open`() {
        #expect(Self.host().way("10.0.0.1").contains("ignore_routes_with_linkdown"))
        #expect(Self.host().way("2001:db8:f::1").contains("ignore_routes_with_linkdown"))
    }

    @Test(arguments: [SettingsReport.Place.all, .interface(3)])
    func `where such routes are ignored the next one is taken, and the first again when they are not`(
        place: SettingsReport.Place
    ) {
        var host = Self.host(
            Self.ignoring(.v4, .all, false), Self.ignoring(.v6, .all, false),
            Self.ignoring(.v4, place, true), Self.ignoring(.v6, place, true))
        #expect(host.way("10.0.0.1") == "10.0.0.0/8 link dev 2")
        #expect(host.way("2001:db8:f::1") == "2001:db8:f::/48 link dev 2")
        host.apply(Self.ignoring(.v4, place, false))
        host.apply(Self.ignoring(.v6, place, false))
        #expect(host.way("10.0.0.1") == "10.0.0.0/8 link dev 3")
        #expect(host.way("2001:db8:f::1") == "2001:db8:f::/48 link dev 3")
    }

    @Test func `in IPv6 the interface's own setting counts, in IPv4 either`() {
        let host = Self.host(
            Self.ignoring(.v4, .all, true), Self.ignoring(.v4, .interface(3), false),
            Self.ignoring(.v6, .all, true), Self.ignoring(.v6, .interface(3), false))
        #expect(host.way("10.0.0.1") == "10.0.0.0/8 link dev 2")
        #expect(host.way("2001:db8:f::1") == "2001:db8:f::/48 link dev 3")
    }

    @Test func `the settings of interfaces to come and of another one change nothing`() {
        let host = Self.host(
            Self.ignoring(.v4, .all, false), Self.ignoring(.v6, .interface(3), false),
            Self.ignoring(.v4, .newInterfaces, true), Self.ignoring(.v6, .newInterfaces, true),
            Self.ignoring(.v4, .interface(2), true), Self.ignoring(.v6, .interface(2), true),
            Self.ignoring(.v4, .interface(99), true))
        #expect(host.way("10.0.0.1") == "10.0.0.0/8 link dev 3")
        #expect(host.way("2001:db8:f::1") == "2001:db8:f::/48 link dev 3")
        #expect(host.links[99] == nil)
    }

    @Test func `a dumped setting is not inferred from the state of nexthops`() {
        // Dead though not ignored: it looks as if such routes were ignored.
        var host = Self.host(
            Self.ignoring(.v4, .interface(3), false), Self.ignoring(.v4, .all, false),
            .route("11.0.0.0/8", nexthops: [Nexthop(interfaceIndex: 3, flags: [.dead, .linkDown])]))
        host.apply(
            .removedRoute(
                Route(
                    destination: NetworkChange.parsed("10.0.0.0/8"), priority: 5,
                    nexthops: [Nexthop(interfaceIndex: 3)])))
        host.dumpEnded(knowsNeighbours: true)
        #expect(host.settings.ipv4IgnoresLinkdown == false)
    }

    @Test func `forwarding of all interfaces is whether this is a router`() {
        let host = Self.host(
            .settings(SettingsReport(.all) { $0.ipv6Forwards = true }),
            .settings(SettingsReport(.all) { $0.ipv4Forwards = false }),
            .settings(SettingsReport(.interface(2)) { $0.ipv6Forwards = false }))
        #expect(host.settings.ipv6Forwards == true)
        #expect(host.links[2]?.settings.ipv6Forwards == false)
    }
}
