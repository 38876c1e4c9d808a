// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

/// With nexthop_compat_mode=0 a route names its nexthop object and nothing else.
struct NexthopObjectTests {
    private func host(compatible: Bool) throws -> TestNamespace {
        let host = try TestNamespace.twoWires()
        try host.set("net/ipv4/nexthop_compat_mode", compatible ? "1" : "0")
        try host.ip(
            "nexthop add id 10 via 192.0.2.254 dev w0", "nexthop add id 11 via 203.0.113.254 dev w1",
            "nexthop add id 12 group 10/11", "route add 198.51.100.0/24 nhid 10",
            "route add 198.51.101.0/24 nhid 12",
            "nexthop add id 20 via 2001:db8::254 dev w0", "nexthop add id 21 via 2001:db8:1::254 dev w1",
            "nexthop add id 22 group 20/21", "-6 route add 2001:db8:f::/48 nhid 20",
            "-6 route add 2001:db8:e::/48 nhid 22"
        )
        return host
    }

    @Test(
        .needs(.veth, .nexthops),
        arguments: [true, false]
    )
    func `a route through an object is known with its gateway`(compatible: Bool) throws {
        let host = try host(compatible: compatible)
        try host.expect("198.51.100.1", .routed, "gateway", through: "w0", gateway: "192.0.2.254")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w0", gateway: "2001:db8::254")
        try host.ip("nexthop replace id 10 via 203.0.113.253 dev w1")
        try host.ip("nexthop replace id 20 via 2001:db8:1::253 dev w1")
        try host.expect("198.51.100.1", .routed, "gateway", through: "w1", gateway: "203.0.113.253")
        try host.expect("2001:db8:f::1", .routed, "gateway", through: "w1", gateway: "2001:db8:1::253")
    }

    @Test(.needs(.veth, .nexthops), arguments: [true, false]) func `the nexthop of the packets is reported`(
        compatible: Bool
    ) throws {
        let host = try host(compatible: compatible)
        for (prefix, gateways) in [
            ("198.51.101.", ["w0": "192.0.2.254", "w1": "203.0.113.254"]),
            ("2001:db8:e::", ["w0": "2001:db8::254", "w1": "2001:db8:1::254"]),
        ] {
            var taken: Set<String> = []
            for number in 1...40 {
                let answer = try host.ask(.host("\(prefix)\(number)"))
                #expect(answer.flags == .routed && answer.gateway == gateways[answer.interface], "\(answer)")
                taken.insert(answer.interface)
            }
            #expect(taken == ["w0", "w1"])
        }
    }

    /// The kernel chooses by the hash of the packet, whatever interface the socket is bound to, and Linux 6.1 keeps to
    /// that interface.
    @Test(.needs(.veth, .nexthops), arguments: [true, false])
    func `a socket bound to one interface of an IPv6 group leaves as the kernel says`(
        compatible: Bool
    ) throws {
        let host = try host(compatible: compatible)
        var taken: Set<String> = []
        for number in 1...40 {
            let target = "2001:db8:e::\(number)"
            let words = try host.ip("-6 route get \(target) oif w1 ipproto udp").split(separator: " ")
            let device = try #require(words.firstIndex(of: "dev"))
            let name = String(words[device + 1])
            taken.insert(name)
            let answer = try host.ask(.host(target), ["interface=w1"])
            #expect(answer.flags == .routed && answer.interface == name, "\(target): \(answer)")
        }
        let isOld = try host.run(["uname", "-r"]).output.hasPrefix("6.1.")
        #expect(taken == (isOld ? ["w1"] : ["w0", "w1"]))
        try host.expect(
            "198.51.101.1", .routed, "gateway", through: "w1", gateway: "203.0.113.254",
            options: "interface=w1")
    }

    @Test(
        .needs(.veth, .nexthops),
        arguments: [true, false]
    )
    func `a deleted nexthop object removes its route, and its member of a group`(compatible: Bool) throws {
        let host = try host(compatible: compatible)
        try host.ip("nexthop del id 10", "nexthop del id 20")
        try host.expect("198.51.100.1", .none, "noRoute")
        try host.expect("2001:db8:f::1", .none, "noRoute")
        try host.expect("198.51.101.1", .routed, "gateway", through: "w1", gateway: "203.0.113.254")
        try host.expect("2001:db8:e::1", .routed, "gateway", through: "w1", gateway: "2001:db8:1::254")
        try host.ip("nexthop del id 11", "nexthop del id 21")
        try host.expect("198.51.101.1", .none, "noRoute")
        try host.expect("2001:db8:e::1", .none, "noRoute")
    }

    @Test(
        .needs(.veth, .nexthops),
        arguments: [true, false]
    )
    func `a nexthop object whose interface lost its carrier is not reachable`(compatible: Bool) throws {
        let host = try host(compatible: compatible)
        try host.setFarEnd(of: "w0", up: false)
        try host.expect("198.51.100.1", .none)
        try host.expect("2001:db8:f::1", .none)
        try host.expect("198.51.101.1", .routed, "gateway", gateway: "203.0.113.254")
        try host.expect("2001:db8:e::1", .routed, "gateway", gateway: "2001:db8:1::254")
    }

    @Test(.needs(.veth, .nexthops), arguments: [true, false]) func `a blackhole nexthop object rejects`(
        compatible: Bool
    ) throws {
        let host = try host(compatible: compatible)
        try host.ip("nexthop add id 30 blackhole", "route add 198.51.102.0/24 nhid 30")
        try host.ip("-6 nexthop add id 31 blackhole", "-6 route add 2001:db8:d::/48 nhid 31")
        try host.expect("198.51.102.1", .none, "blackhole")
        try host.expect("2001:db8:d::1", .none, "blackhole")
    }
}
