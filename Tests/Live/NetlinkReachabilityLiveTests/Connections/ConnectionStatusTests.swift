// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

/// What becomes of connections, held against the data that the server receives.
struct ConnectionStatusTests {
    @Test(.needs(.veth)) func `a connection waits while the cable is out, and is viable again after that`()
        throws
    {
        let net = try ConnectedHost(uplinks: ["up0"])
        let numbers = try [
            net.connect("tcp", "198.51.100.1"), net.connect("udp", "198.51.100.1"),
        ]
        for number in numbers { #expect(try net.status(number).state == "viable") }
        let cable = ConnectedHost.Change(
            name: "cable", apply: ["far: link set up0-far down"], undo: ["far: link set up0-far up"],
            links: ["up0"])
        try net.apply(cable)
        for number in numbers {
            let status = try net.status(number)
            #expect(status.state == "waiting")
            #expect(status.reason == "noCarrier")
        }
        try net.expectNoContradiction(after: "a cable that is out")
        try net.undo(cable)
        for number in numbers { #expect(try net.status(number).state == "viable") }
        try net.expectNoContradiction(after: "a cable that is in again")
    }

    @Test(.needs(.veth)) func `a connection is lost with its local address, in both families`() throws {
        let net = try ConnectedHost(uplinks: ["up0"])
        for remote in ConnectedHost.remotes {
            _ = try (net.connect("tcp", remote), net.connect("udp", remote))
        }
        try net.expectNoContradiction(after: "nothing")
        try net.host.ip(
            "addr add 192.0.2.3/24 dev up0", "addr del 192.0.2.2/24 dev up0",
            "-6 addr del 2001:db8:1::2/64 dev up0")
        for number in net.connections.keys {
            let status = try net.status(number)
            #expect(status.state == "lost")
            #expect(status.reason == "notOwnAddress")
        }
        try net.expectNoContradiction(after: "addresses that are gone")
    }

    /// It was lost for its address.
    @Test(.needs(.veth)) func `a transparent socket with an address of another host is viable`() throws {
        let net = try ConnectedHost(uplinks: ["up0"])
        try net.host.ip(
            "rule add iif up0 pref 10 lookup 100", "route add local 203.0.113.77/32 dev lo table 100")
        try net.server.ip("route add 203.0.113.77/32 via 192.0.2.2")
        let number = try net.connect("tcp", "198.51.100.1", "transparent=1", "from=203.0.113.77")
        let status = try net.status(number)
        #expect(status.state == "viable" && status.betterInterface == "", "\(status.text)")
        #expect(try net.host.command(["exchange", number]).first == number)
        let cable = ConnectedHost.Change(
            name: "cable", apply: ["far: link set up0-far down"], undo: [], links: ["up0"])
        try net.apply(cable)
        #expect(try net.status(number).reason == "noCarrier")
    }

    /// It was said to wait as one without a carrier does.
    @Test(.needs(.veth)) func `a bound connection without a route goes on while the other end answers ARP`()
        throws
    {
        let net = try ConnectedHost(uplinks: ["up0"])
        let number = try net.connect("tcp", "192.0.2.1", "device=up0")
        try net.host.ip("route flush table main")
        let status = try net.status(number)
        #expect(status.state == "waiting" && status.reason == "noRouteOutOfInterface", "\(status.text)")
        #expect(status.text.contains("no route out of up0: it goes on while the other end answers ARP"))
        #expect(try net.host.command(["exchange", number]).first == number)
    }

    @Test(.needs(.veth)) func `a better path is one that a new connection would take`() throws {
        let net = try ConnectedHost(uplinks: ["up0", "up1"])
        let number = try net.connect("tcp", "198.51.100.1")
        #expect(try net.status(number).betterInterface == "")
        try net.host.ip("route add default via 192.0.3.1 dev up1 metric 50")
        let moved = try net.status(number)
        #expect(moved.state == "viable")
        #expect(moved.betterInterface == "up1")
        #expect(moved.betterSource == "192.0.3.2")
        try net.host.ip("route del default via 192.0.3.1 dev up1 metric 50")
        #expect(try net.status(number).betterInterface == "")
    }

    @Test(.needs(.veth))
    func `a connection whose uplink is down leaves through another one, which is better`()
        throws
    {
        let net = try ConnectedHost(uplinks: ["up0", "up1"])
        let number = try net.connect("tcp", "198.51.100.1")
        let off = ConnectedHost.Change(name: "down", apply: ["link set up0 down"], undo: [], links: ["up0"])
        try net.apply(off)
        let status = try net.status(number)
        #expect(status.reason == "unknownReturnPath")
        #expect(status.betterInterface == "up1")
        try net.expectNoContradiction(after: "an uplink that is down")
    }

    @Test(.needs(.veth)) func `answers arrive on another interface than that of the local address`() throws {
        let net = try ConnectedHost(uplinks: ["up0", "up1"])
        let number = try net.connect("tcp", "198.51.100.1", "from=192.0.3.2")
        try net.apply(
            ConnectedHost.Change(
                name: "cable", apply: ["far: link set up1-far down"], undo: [], links: ["up1"]))
        let unknown = try net.status(number)
        #expect(unknown.state == "viable")
        #expect(unknown.reason == "unknownReturnPath")
        #expect(
            unknown.text == "viable: leaves through up0, but answers may not arrive: up1 has no carrier"
                + "; better path: up0 via 192.0.2.1 from 192.0.2.2")
        try net.server.ip("route add 192.0.3.2/32 via 192.0.2.2")
        #expect(try net.host.command(["exchange", number]).first == number)
    }

    /// The kernel keeps the local route of an IPv4 address whose interface is down.
    @Test(.needs(.veth)) func `answers to an IPv4 address arrive while its interface is down`() throws {
        let net = try ConnectedHost(uplinks: ["up0", "up1"])
        let number = try net.connect("udp", "198.51.100.1", "from=192.0.3.2")
        try net.host.ip("link set up1 down")
        try net.server.ip("route replace 192.0.3.2/32 via 192.0.2.2")
        let status = try net.status(number)
        #expect(status.state == "viable")
        #expect(status.text.contains("answers may not arrive: up1 is down"))
        #expect(try net.host.command(["exchange", number]).first == number)
    }

    /// It was viable while no answer arrived.
    @Test(.needs(.veth)) func `a bound connection waits while this host has its remote address, too`() throws
    {
        let net = try ConnectedHost(uplinks: ["up0"])
        let number = try net.connect("tcp", "198.51.100.1", "device=up0")
        try net.host.ip("addr add 198.51.100.1/32 dev lo")
        let status = try net.status(number)
        #expect(status.state == "waiting")
        #expect(status.reason == "remoteIsLocalAddress")
        #expect(try net.host.command(["exchange", number]).first != number)
        try net.host.ip("addr del 198.51.100.1/32 dev lo")
        #expect(try net.status(number).state == "viable")
        try net.expectNoContradiction(after: "an address that is gone")
    }

    @Test(.needs(.veth))
    func `answers on another interface than that of the only source address are not known`()
        throws
    {
        let net = try ConnectedHost(uplinks: ["up0", "up1"])
        // It makes the gateway a neighbour.
        try net.connect("tcp", "2001:db8:ff::1")
        let number = try net.connect("tcp", "2001:db8:ff::1", "from=2001:db8:2::2")
        try net.host.ip("-6 addr del 2001:db8:1::2/64 dev up0")
        try net.apply(
            ConnectedHost.Change(
                name: "cable", apply: ["far: link set up1-far down"], undo: [], links: ["up1"]))
        let status = try net.status(number)
        #expect(status.state == "viable")
        #expect(status.reason == "unknownReturnPath")
        #expect(status.betterInterface == "")
        try net.expectNoContradiction(after: "a cable that is out")
    }

    /// The route is of up1, and the address of up0.
    @Test(.needs(.veth))
    func `an added local route does not hide the interface with the address`() throws {
        let net = try ConnectedHost(uplinks: ["up0", "up1"])
        let number = try net.connect("tcp", "198.51.100.1")
        try net.host.ip("route replace local 192.0.2.2 dev up1 proto static table local")
        try net.host.ip("route del default via 192.0.2.1 dev up0")
        #expect(try net.status(number).state == "viable")
        try net.apply(
            ConnectedHost.Change(
                name: "cable", apply: ["far: link set up0-far down"], undo: [], links: ["up0"]))
        let status = try net.status(number)
        #expect(status.reason == "unknownReturnPath")
        #expect(status.text.contains("up0"))
    }

    /// The kernel does not avoid a nexthop whose interface has no carrier.
    @Test(.needs(.veth)) func `a connection has the nexthop that the kernel chooses for its ports`() throws {
        let net = try ConnectedHost(uplinks: ["up0", "up1"])
        for family in ["ipv4", "ipv6"] { try net.host.set("net/\(family)/fib_multipath_hash_policy", "1") }
        try net.host.ip(
            "addr add 10.0.0.1/32 dev lo",
            "route replace default metric 50 nexthop via 192.0.2.1 dev up0 nexthop via 192.0.3.1 dev up1",
            "-6 route replace default metric 50 nexthop via 2001:db8:1::1 dev up0 nexthop via 2001:db8:2::1 dev up1"
        )
        try net.host.address("lo", "2001:db8:77::1/128")
        try net.server.ip("route add 10.0.0.1 via 192.0.2.2", "-6 route add 2001:db8:77::1 via 2001:db8:1::2")
        let sources = ["10.0.0.1", "2001:db8:77::1"]
        let numbers = try zip(ConnectedHost.remotes, sources).map { remote, source in
            try (0..<24).map { _ in try net.connect("tcp", remote, "from=\(source)") }
        }
        try net.apply(
            ConnectedHost.Change(
                name: "cable", apply: ["far: link set up1-far down"], undo: [], links: ["up1"]))
        for numbers in numbers {
            #expect(Set(try numbers.map { try net.status($0).state }) == ["viable", "waiting"])
        }
        try net.expectNoContradiction(after: "a cable that is out")
    }

    @Test(.needs(.veth)) func `a local route makes an address that no interface has one of this host`() throws
    {
        let net = try ConnectedHost(uplinks: ["up0"])
        try net.host.set("net/ipv6/ip_nonlocal_bind", "1")
        try net.host.ip("-6 route add local 2001:db8:50::/64 dev lo")
        try net.server.ip("-6 route add 2001:db8:50::/64 via 2001:db8:1::2")
        let number = try net.connect("tcp", "2001:db8:ff::1", "from=2001:db8:50::7")
        #expect(try net.status(number).state == "viable")
        try net.expectNoContradiction(after: "a local route")
        try net.host.ip("-6 route del local 2001:db8:50::/64 dev lo")
        #expect(try net.status(number).state == "lost")
        try net.expectNoContradiction(after: "no local route")
    }

    @Test(.needs(.veth))
    func `a connection of this host to itself waits while the loopback interface is down`()
        throws
    {
        let net = try ConnectedHost(uplinks: ["up0"])
        try net.host.command(["serve"])
        let numbers = try ["192.0.2.2", "2001:db8:1::2"].flatMap {
            try [net.connect("tcp", $0), net.connect("tcp", $0, "device=up0")]
        }
        for number in numbers { #expect(try net.status(number).state == "local") }
        try net.host.ip("link set lo down")
        for number in numbers {
            let status = try net.status(number)
            #expect(status.state == "waiting")
            #expect(status.text == "waiting: lo is down")
        }
        #expect(try net.host.command(["exchange"]) == ["broken"])
        try net.host.ip("link set lo up")
        for number in numbers { #expect(try net.status(number).state == "local") }
        try net.expectNoContradiction(after: "a loopback interface that is up again")
    }

    @Test(.needs(.veth)) func `the traffic class of a connected IPv6 TCP socket does not select its route`()
        throws
    {
        let net = try ConnectedHost(uplinks: ["up0"])
        let stream = try net.connect("tcp", "2001:db8:ff::1", "class=16")
        let datagrams = try net.connect("udp", "2001:db8:ff::1", "class=16")
        try net.host.ip("-6 rule add tos 0x10 prohibit")
        #expect(try net.status(stream).state == "viable")
        #expect(try net.status(datagrams).state == "waiting")
        try net.expectNoContradiction(after: "a rule for the traffic class")
    }

    /// Only a socket shows which source the kernel selects, and no TCP socket can be connected without sending.
    @Test(.needs(.veth)) func `a TCP connection has a better path where routes compare the source`()
        throws
    {
        let net = try ConnectedHost(uplinks: ["up0", "up1"])
        try net.host.ip("-6 route flush default")
        for number in [1, 2] {
            try net.host.ip(
                "-6 route add default from 2001:db8:\(number)::/64 via 2001:db8:\(number)::1 dev up\(number - 1)"
            )
        }
        for kind in ["tcp", "udp"] {
            let number = try net.connect(kind, "2001:db8:ff::1", "from=2001:db8:2::2")
            let status = try net.status(number)
            #expect(status.state == "viable")
            #expect(status.betterInterface == "up0", "\(kind): \(status.text)")
            #expect(status.betterSource == "2001:db8:1::2")
        }
        try net.expectNoContradiction(after: "routes that compare the source")
    }

    @Test(.needs(.veth))
    func `a UDP socket does not show the path of TCP where a rule compares the protocol`()
        throws
    {
        let net = try ConnectedHost(uplinks: ["up0", "up1"])
        try net.host.ip(
            "-6 route flush default", "-6 route add default from 2001:db8:1::/64 via 2001:db8:1::1 dev up0",
            "-6 route add default from 2001:db8:2::/64 via 2001:db8:2::1 dev up1")
        let number = try net.connect("tcp", "2001:db8:ff::1", "from=2001:db8:1::2")
        try net.host.ip(
            "-6 route add default via 2001:db8:2::1 dev up1 table 100", "-6 rule add ipproto udp lookup 100")
        let status = try net.status(number)
        #expect(status.state == "viable")
        #expect(status.betterInterface == "", "\(status.text)")
        try net.expectNoContradiction(after: "a rule for UDP")
    }

    /// A query about a bound IPv6 socket is not strict where it has a source address.
    @Test(.needs(.veth)) func `a bound connection has the nexthop of its interface`() throws {
        let net = try ConnectedHost(uplinks: ["up0", "up1"])
        try net.host.set("net/ipv6/fib_multipath_hash_policy", "1")
        try net.host.ip(
            "-6 route replace default metric 50 nexthop via 2001:db8:1::1 dev up0 nexthop via 2001:db8:2::1 dev up1",
            "-6 rule add from 2001:db8:9::/64 lookup 9")
        for _ in 0..<16 {
            let status = try net.status(net.connect("tcp", "2001:db8:ff::1", "device=up0"))
            #expect(status.text == "viable: through gateway 2001:db8:1::1 on up0")
        }
    }

    @Test(.needs(.veth)) func `a connection that a rule for its traffic class has routed has no better path`()
        throws
    {
        let net = try ConnectedHost(uplinks: ["up0", "up1"])
        try net.host.ip(
            "-6 rule add tos 0x10 lookup 100", "-6 route add default via 2001:db8:2::1 dev up1 table 100")
        let number = try net.connect("tcp", "2001:db8:ff::1", "class=16")
        let status = try net.status(number)
        #expect(status.betterInterface == "", "\(status.text)")
        try net.expectNoContradiction(after: "a rule for the traffic class")
    }

    @Test(.needs(.veth)) func `a new equal-cost nexthop is not better`() throws {
        let net = try ConnectedHost(uplinks: ["up0", "up1"])
        let number = try net.connect("tcp", "198.51.100.1")
        try net.host.ip(
            "route replace default metric 100 nexthop via 192.0.2.1 dev up0 nexthop via 192.0.3.1 dev up1")
        let status = try net.status(number)
        #expect(status.state == "viable")
        #expect(status.betterInterface == "")
    }

    @Test(.needs(.veth)) func `a connection to this host is local`() throws {
        let net = try ConnectedHost(uplinks: ["up0"])
        try net.host.command(["serve"])
        let numbers = try ["127.0.0.1", "192.0.2.2", "::1", "2001:db8:1::2"].map {
            try net.connect("tcp", $0)
        }
        try net.host.ip("link set up0 down")
        #expect(try numbers.map { try net.status($0).state } == ["local", "local", "local", "lost"])
        try net.expectNoContradiction(after: "an uplink that is down")
    }

    @Test(.needs(.veth)) func `a socket's mark and interface select its routes`() throws {
        let net = try ConnectedHost(uplinks: ["up0", "up1"])
        try net.host.ip("route add default via 192.0.3.1 dev up1 table 100", "rule add fwmark 7 lookup 100")
        let marked = try net.connect("tcp", "198.51.100.1", "mark=7")
        let bound = try net.connect("tcp", "198.51.100.1", "device=up0")
        #expect(net.connections[marked]?.description.contains("192.0.3.2:") == true)
        try net.host.ip("rule add fwmark 7 prohibit pref 10")
        #expect(try net.status(marked).state == "waiting")
        #expect(try net.status(marked).reason == "refusedByRule")
        #expect(try net.status(bound).state == "viable")
        try net.host.ip("rule del fwmark 7 prohibit pref 10", "route del default dev up0 metric 100")
        #expect(try net.status(marked).state == "viable")
        #expect(try net.status(bound).state == "waiting")
        try net.expectNoContradiction(after: "a default route that is gone")
    }

    // MARK: Names and indices

    /// The name was looked up: a bound socket was lost although its data passed.
    @Test(.needs(.veth)) func `a bound connection stays when its interface is renamed`() throws {
        let net = try ConnectedHost(uplinks: ["up0"])
        let numbers = try [
            net.connect("tcp", "198.51.100.1", "device=up0"),
            net.connect("udp", "2001:db8:ff::1", "device=up0"),
            net.connect("tcp", "fe80::1%up0"), net.connect("tcp", "198.51.100.1"),
        ]
        // Until Linux 6.2 an interface that is up cannot be renamed, and its IPv6 addresses go when it is set down.
        try net.host.set("net/ipv6/conf/up0/keep_addr_on_down", "1")
        if (try? net.host.ip("link set up0 name 3")) == nil { return }
        for number in numbers { #expect(try net.status(number).state == "viable") }
        try net.expectNoContradiction(after: "a renamed interface")
        // Another interface takes the old name.
        try net.host.ip("link add up0 type veth peer name other", "link set up0 up")
        for number in numbers { #expect(try net.status(number).state == "viable") }
        try net.expectNoContradiction(after: "another interface of the old name")
    }

    /// It was viable, and no data could ever pass.
    @Test(.needs(.veth)) func `a bound connection is lost with its interface, also if another gets the name`()
        throws
    {
        let net = try ConnectedHost(uplinks: ["up0"])
        let bound = try [
            net.connect("tcp", "198.51.100.1", "device=up0"), net.connect("tcp", "fe80::1%up0"),
        ]
        let plain = try net.connect("tcp", "198.51.100.1")
        try net.host.ip("link del up0")
        for number in bound + [plain] { #expect(try net.status(number).state == "lost") }
        try net.wireUplink("up0")
        for number in bound { #expect(try net.status(number).state == "lost") }
        #expect(try net.status(plain).state == "viable")
        try net.expectNoContradiction(after: "an interface that was made again")
    }
}
