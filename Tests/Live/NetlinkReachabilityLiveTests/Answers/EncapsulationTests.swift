// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

/// Routes that put other packets around theirs, held against the interface whose counter a packet raises.
struct EncapsulationTests {
    private let host: TestNamespace

    init() throws {
        host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24", "2001:db8::1/64")
        try host.wire("w1", "198.51.100.1/24", "2001:db8:1::1/64")
        try host.ip("-6 neigh add 2001:db8:1::9 lladdr 02:00:00:00:00:09 dev w1")
    }

    private func sentPackets(_ name: String) throws -> Int {
        let lines = try host.ip("-s link show dev \(name)").split(separator: "\n")
        let place = try #require(lines.firstIndex { $0.contains("TX:") })
        let fields = lines[place + 1].split(separator: " ")
        return try #require(Int(fields[1]))
    }

    /// It was "on the link of w0, no gateway needed".
    @Test(.needs(.veth, .segments))
    func `packets with segments leave to the first one, whatever the interface of the route`()
        throws
    {
        try host.ip("-6 route add 2001:db8:5::/48 encap seg6 mode encap segs 2001:db8:1::9 dev w0")
        try host.expect("2001:db8:5::1", .routed, "encapsulated", through: "w1")
        let before = try (sentPackets("w0"), sentPackets("w1"))
        // The kernel sends a few packets of its own through each interface.
        try host.shell("for i in $(seq 50); do bash -c 'echo >/dev/udp/2001:db8:5::1/9'; done")
        try host.wait(until: "the packets leave") { try sentPackets("w1") >= before.1 + 50 }
        #expect(try sentPackets("w0") < before.0 + 25)
        // The route's own interface does not matter, and that of the outer packet does.
        try host.ip("link set w0-far down")
        try host.wait(for: "w0", state: "DOWN")
        try host.expect("2001:db8:5::1", .routed, "encapsulated", through: "w1")
        try host.ip("link set w1-far down")
        try host.wait(for: "w1", state: "DOWN")
        try host.expect("2001:db8:5::1", .none, "outerUnreachable")
    }

    /// It was reachable: a source of no use is none inside another packet either.
    @Test(.needs(.veth, .segments)) func `an inner packet without a usable source does not arrive`() throws {
        try host.ip("addr flush dev w0", "addr flush dev w1")
        try host.address("w1", "2001:db8:1::1/64")
        try host.ip("route add 10.4.0.0/16 encap seg6 mode encap segs 2001:db8:1::9 dev w0")
        try host.expect("10.4.1.1", .none, "unusableSource")
    }

    @Test(.needs(.veth, .segments)) func `the outer packet has the mark of the socket`() throws {
        try host.ip("-6 route add 2001:db8:5::/48 encap seg6 mode encap segs 2001:db8:1::9 dev w0")
        try host.ip("-6 rule add fwmark 7 to 2001:db8:1::/64 prohibit")
        try host.expect("2001:db8:5::1", .routed, "encapsulated")
        try host.expect("2001:db8:5::1", .none, "outerUnreachable", options: "mark=7")
    }

    @Test(.needs(.veth, .segments)) func `an outer packet without a route keeps the packet from leaving`()
        throws
    {
        try host.ip("-6 route add 2001:db8:6::/48 encap seg6 mode encap segs fc00::1 dev w0")
        try host.expect("2001:db8:6::1", .none, "outerUnreachable")
        try host.ip("-6 route add fc00::/16 via 2001:db8:1::9")
        try host.expect("2001:db8:6::1", .routed, "encapsulated", through: "w1")
    }

    @Test(.needs(.veth, .externalTunnels))
    func `a tunnel that takes its destination from the route sends to it`() throws {
        try host.ip(
            "link add vx type vxlan external dstport 4789", "link set vx up", "addr add 10.9.0.1/24 dev vx",
            "route add 10.1.0.0/16 encap ip id 7 dst 192.0.2.77 dev vx",
            "route add 10.2.0.0/16 encap ip id 7 dst 203.0.113.77 dev vx")
        try host.expect("10.1.1.1", .routed, "encapsulated", through: "vx")
        try host.expect("10.2.1.1", .none, "outerUnreachable")
        try host.ip("link set vx down")
        try host.expect("10.1.1.1", .none)
    }

    @Test(.needs(.veth, .segments)) func `an encapsulation that hides where packets go is undecided`() throws
    {
        try host.ip("-6 route add 2001:db8:7::/48 encap seg6local action End dev w0")
        try host.expectError("2001:db8:7::1", "undecided")
        // Around the packet comes one that is encapsulated again.
        try host.ip(
            "-6 route add 2001:db8:5::/48 encap seg6 mode encap segs 2001:db8:1::9 dev w0",
            "-6 route add 2001:db8:8::/48 encap seg6 mode encap segs 2001:db8:5::9 dev w0")
        try host.expectError("2001:db8:8::1", "undecided")
    }
}
