// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

/// Routers that advertise themselves over IPv6, in namespaces of their own.
@Suite(.needs(.veth))
struct RouterTests {
    private static let network = "2001:db8:9::"
    /// The address that the host makes itself of the network and the hardware address of `w0`.
    private static let own = "2001:db8:9::ff:fe00:1"
    private static let isRouted = ObservedNetwork.Expected.routed("w0", via: "fe80::2")

    @Test func `a router is the way out until it withdraws, and its network is on the link until then`()
        throws
    {
        let host = try TestNamespace()
        let router = try Self.router(of: host, on: "w0")
        let network = try ObservedNetwork(
            host,
            [
                "2001:db8:f::1": .unreachable("noRoute"), "default": .unreachable("noDefaultRoute"),
                "2001:db8:9::9": .unreachable("noRoute"), Self.own: .unreachable("noRoute"),
                "2001:db8::9": .direct("w0"),
            ])
        try router.command(["advertise", "w0-far", "600", Self.network, "600", "600"])
        try host.wait(until: "the router and its network are there") {
            try Self.defaultRoute(of: host)
                && host.ip("-6 route show table all").contains("local \(Self.own) ")
        }
        // The network is on the link before the address is the host's.
        try network.expect(
            [
                "2001:db8:f::1": Self.isRouted, "default": Self.isRouted, "2001:db8:9::9": .direct("w0"),
                Self.own: .own,
            ], afterOthers: true)
        try router.command(["advertise", "w0-far", "1800"])
        try host.wait(until: "the lifetime is longer") {
            try host.ip("-6 route show default").contains(/expires 1[0-9]{3}sec/)
        }
        try network.expect([:])
        // A network that is withdrawn is behind the router; addresses stay for two hours (RFC 4862, section 5.5.3).
        try router.command(["advertise", "w0-far", "1800", Self.network, "0", "0"])
        try host.wait(until: "the network is not on the link, and its address deprecated") {
            try !host.ip("-6 route show").contains("\(Self.network)/64")
                && host.ip("-6 addr show dev w0").contains("deprecated")
        }
        try network.expect(["2001:db8:9::9": Self.isRouted])
        try router.command(["advertise", "w0-far", "0"])
        try host.wait(until: "the router is gone") { try !Self.defaultRoute(of: host) }
        try network.expect([
            "2001:db8:f::1": .unreachable("noRoute"), "default": .unreachable("noDefaultRoute"),
            "2001:db8:9::9": .unreachable("noRoute"),
        ])
    }

    /// It ended with the default route, before any address could be a source.
    @Test func `wait ends when a connection through a new router works, and not before`() throws {
        let host = try TestNamespace()
        let router = try host.makePeer()
        try host.wire("w0", to: router)
        try host.set("net/ipv6/conf/w0/accept_ra", "2")
        // Detection takes three seconds.
        try host.set("net/ipv6/conf/w0/accept_dad", "1")
        try host.set("net/ipv6/conf/w0/dad_transmits", "3")
        try host.ip("link set w0 address 02:00:00:00:00:01")
        try host.address("w0", "fe80::1/64")
        try router.address("w0-far", "fe80::2/64")
        try router.address("lo", "2001:db8:ff::1/128")
        try router.ip("-6 route add \(Self.network)/64 dev w0-far")
        try router.command(["serve"])
        let folder = try host.shell("mktemp -d").split(separator: "\n")[0]
        defer { _ = try? host.shell("rm -r \(folder)") }
        let connect = "timeout 5 bash -c 'exec 3<>/dev/tcp/2001:db8:ff::1/7777'"
        #expect(try host.run(["sh", "-c", "\(connect) 2>/dev/null"]).status != 0)
        let netflags = try TestNamespace.program("netflags")
        try host.shell(
            "{ \(netflags) wait -6 --timeout 30 default; echo $?; \(connect); echo $?; }"
                + " >\(folder)/statuses 2>\(folder)/errors &")
        try router.command(["advertise", "w0-far", "600", Self.network, "600", "600"])
        try host.wait(until: "there are a default route and an address") {
            try Self.defaultRoute(of: host) && host.ip("-6 addr show dev w0").contains("\(Self.own)/64")
        }
        if try host.ip("-6 addr show dev w0").contains("tentative") {
            try host.expect("2001:db8:ff::1", .none, "unusableSource")
            #expect(try host.shell("cat \(folder)/statuses") == "")
        }
        try host.wait(until: "both have ended") {
            try host.shell("cat \(folder)/statuses").split(separator: "\n").count == 2
        }
        #expect(try host.shell("cat \(folder)/statuses \(folder)/errors") == "0\n0\n")
    }

    @Test func `an expired router is not a default route, even while the kernel still lists it`()
        throws
    {
        let host = try TestNamespace()
        let router = try Self.router(of: host, on: "w0")
        let network = try ObservedNetwork(
            host, ["2001:db8:f::1": .unreachable("noRoute"), "default": .unreachable("noDefaultRoute")])
        try router.command(["advertise", "w0-far", "1", Self.network, "600", "600"])
        try host.wait(until: "the router is there") { try Self.defaultRoute(of: host) }
        try host.wait(until: "its lifetime is over") { try !Self.isReachable("2001:db8:f::1", from: host) }
        // What the monitor reported in between depends on when it was asked.
        try network.expect([:], afterOthers: true)
        // The kernel prolongs the route without a notification, and sends one about the address.
        try router.command(["advertise", "w0-far", "600", Self.network, "600", "600"])
        try host.wait(until: "it is there again") { try Self.isReachable("2001:db8:f::1", from: host) }
        try network.expect(["2001:db8:f::1": Self.isRouted, "default": Self.isRouted])
    }

    /// It was undecided from the end of the first lifetime on.
    @Test func `a recording of a router that goes on advertising itself is never undecided`() throws {
        let host = try TestNamespace()
        let router = try Self.router(of: host, on: "w0")
        let folder = try host.shell("mktemp -d").split(separator: "\n")[0]
        defer { _ = try? host.shell("rm -r \(folder)") }
        let netflags = try TestNamespace.program("netflags")
        // A dump of this network is due a second before the end, and at most every three seconds.
        try router.command(["advertise", "w0-far", "5"])
        try host.wait(until: "the router is there") { try Self.defaultRoute(of: host) }
        try host.shell(
            "{ \(netflags) record --events --duration 6 \(folder)/night; echo done; }"
                + " >\(folder)/output 2>&1 &")
        try host.wait(until: "the recorder has ended") {
            try router.command(["advertise", "w0-far", "5"])
            return try host.shell("sleep 0.5; cat \(folder)/output").contains("done")
        }
        let rows = try host.shell("\(netflags) timeline --json \(folder)/night 2001:db8:f::1").split(
            separator: "\n")
        #expect(rows.count == 1 && rows[0].contains(#""reachable":true"#), "\(rows)")
    }

    @Test func `of two routers the preferred one is the gateway, until it withdraws`() throws {
        let host = try TestNamespace()
        let first = try Self.router(of: host, on: "w0")
        let second = try Self.router(of: host, on: "w1")
        let network = try ObservedNetwork(
            host, ["2001:db8:f::1": .unreachable("noRoute"), "default": .unreachable("noDefaultRoute")])
        try first.command(["advertise", "w0-far", "600"])
        try host.wait(until: "the first router is there") { try Self.defaultRoute(of: host) }
        try network.expect(["2001:db8:f::1": Self.isRouted, "default": Self.isRouted])
        try second.command(["advertise", "w1-far", "600", "preferred"])
        try host.wait(until: "the second router is there") { try Self.defaultRoute(of: host, on: "w1") }
        let isRoutedBySecond = ObservedNetwork.Expected.routed("w1", via: "fe80::2")
        try network.expect(["2001:db8:f::1": isRoutedBySecond, "default": isRoutedBySecond])
        try second.command(["advertise", "w1-far", "0"])
        try host.wait(until: "the second router is gone") { try !Self.defaultRoute(of: host, on: "w1") }
        try network.expect(["2001:db8:f::1": Self.isRouted, "default": Self.isRouted])
    }

    /// Connects a router to a host, which listens to its advertisements.
    private static func router(of host: TestNamespace, on wire: String) throws -> TestNamespace {
        let router = try host.makePeer()
        try host.wire(wire, to: router)
        try host.set("net/ipv6/conf/\(wire)/accept_ra", "2")
        try host.ip("link set \(wire) address 02:00:00:00:00:01")
        try host.address(wire, "fe80::1/64")
        if wire == "w0" { try host.address(wire, "2001:db8::1/64") }
        try router.address("\(wire)-far", "fe80::2/64")
        return router
    }

    /// Whether the kernel has a way to an address.
    private static func isReachable(_ address: String, from host: TestNamespace) throws -> Bool {
        try host.run(["ip", "-6", "route", "get", address]).status == 0
    }

    /// Whether an interface has a default route.
    private static func defaultRoute(of host: TestNamespace, on wire: String = "w0") throws -> Bool {
        try host.ip("-6 route show default dev \(wire)").contains("fe80::2")
    }
}
