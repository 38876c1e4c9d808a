// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import Testing

@testable import netflags

struct LossTests {
    /// There was no message on standard error.
    @Test func `a missing interface is a mistake with advice`() throws {
        let result = try NetflagsProcess.run("what-if", "--each", "--replay", Night.path, "fe80::1%nosuch0")
        #expect(result.status == 2)
        let mistake = "fe80::1%nosuch0: there is no interface \"nosuch0\""
        #expect(result.errors == "netflags: \(mistake): give one that `ip link` lists\n")
    }

    @Test func `each thing on the way has a row with what its loss would do`() throws {
        let result = try NetflagsProcess.run("what-if", "--each", "--replay", Night.path, "default")
        #expect(result.status == 1)
        #expect(result.lines.first == "default: through gateway 192.0.2.1 on eth0")
        let rows = result.lines.dropFirst().map { $0.split(separator: " ").map(String.init) }
        func outcome(_ kind: String, _ name: String) -> String? {
            rows.first { $0.first == kind && $0.contains(name) }?.first {
                ["none", "fallback", "lost"].contains($0)
            }
        }
        #expect(outcome("link", "eth0") == "lost")
        #expect(outcome("carrier", "eth0") == "lost")
        #expect(outcome("gateway", "192.0.2.1") == "lost")
        #expect(outcome("gateway", "2001:db8::1") == "none")
        #expect(outcome("address", "192.0.2.7/24") == "fallback")
        #expect(outcome("route", "192.0.2.1") == "fallback")
        #expect(outcome("rule", "32766:") == "fallback")
    }

    /// The losses of what the outer packets take were not listed.
    @Test(.needs(.veth, .vxlan), arguments: [("10.9.0.9", "gateway"), ("10.8.0.9", "encapsulation")])
    func `what the packets around those of a target take is on its way, too`(target: String, kind: String)
        throws
    {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        try host.ip(
            "route add 203.0.113.0/24 via 192.0.2.254",
            "link add vx type vxlan id 7 remote 203.0.113.9 local 192.0.2.1 dstport 4789",
            "link add ex type vxlan external dstport 4790", "link set vx up", "link set ex up",
            "addr add 10.9.0.1/24 dev vx", "addr add 10.8.0.1/32 dev ex",
            "route add 10.8.0.0/24 encap ip id 7 dst 203.0.113.9 dev ex")
        let result = try host.run([NetflagsProcess.path, "what-if", "--each", "--json", target])
        let losses = result.output.split(separator: "\n").compactMap { JSONValue(String($0)) }
            .filter { $0["outcome"] == .string("lost") }
            .map { "\($0["kind"]?.string ?? "") \($0["description"]?.string ?? "")" }
        for loss in ["link w0", "carrier w0", "gateway 192.0.2.254 on w0"] {
            #expect(losses.contains(loss), "\(losses)")
        }
        #expect(losses.contains { $0.hasPrefix("route 203.0.113.0/24") }, "\(losses)")
        #expect(
            kind == "encapsulation" || losses.contains { $0.hasPrefix("address 192.0.2.1/24") }, "\(losses)")
    }

    @Test func `JSON has an object for each loss, with both answers`() throws {
        let result = try NetflagsProcess.run(
            "what-if", "--each", "--json", "--replay", Night.path, "--at", "02:02", "10.8.3.4")
        let objects = result.lines.compactMap { JSONValue($0) }
        #expect(
            objects.map { $0["kind"]?.string } == ["link", "carrier", "gateway", "address", "route", "rule"])
        for object in objects {
            #expect(object.keys == ["recording", "target", "kind", "description", "outcome", "old", "new"])
            #expect(object["outcome"] == .string("lost"))
            #expect(object["old"]?["interface"] == .string("eth1"))
        }
    }

    @Test func `a target that is not reachable, or is none, has the status of that`() throws {
        let lost = try NetflagsProcess.run(
            "what-if", "--each", "--replay", Night.path, "--at", "02:10", "default")
        #expect(lost.status == 1)
        let before = try NetflagsProcess.run(
            "what-if", "--each", "--replay", Night.path, "--at", "2020-01-01T00:00:00Z", "default")
        #expect(before.status == 2)
        for arguments in [["what-if", "--each"], ["what-if", "--each", "example.com"]] {
            let result = try NetflagsProcess.run(arguments)
            #expect(result.status == 64)
            #expect(!result.errors.contains("recording"))
        }
    }

    @Test(.needs(.veth), arguments: [true, false])
    func `each of two uplinks is one that some packets are lost with`(hasSourceRules: Bool) throws {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        try host.wire("w1", "198.51.100.1/24")
        try host.ip("route add default nexthop via 192.0.2.9 dev w0 nexthop via 198.51.100.9 dev w1")
        if hasSourceRules {
            try host.ip(
                "route add default via 192.0.2.9 table 100", "rule add from 192.0.2.1 lookup 100",
                "route add default via 198.51.100.9 table 200", "rule add from 198.51.100.1 lookup 200")
        }
        func run(_ arguments: String...) throws -> [String] {
            let result = try host.run(host.entering([NetflagsProcess.path] + arguments))
            return result.output.split(separator: "\n").map(String.init)
        }
        let carriers = try run("what-if", "--each", "203.0.113.7").filter { $0.hasPrefix("  carrier") }
        // With rules for the sources, all packets to a target take the same uplink, and it is unknown which.
        let outcome = hasSourceRules ? " unknown " : " lost "
        #expect(carriers.count == 2 && carriers.allSatisfy { $0.contains(outcome) }, "\(carriers)")
        for name in ["w0", "w1"] {
            let lines = try run("what-if", "carrier \(name) off", "--", "203.0.113.7")
            #expect(lines.contains { $0.hasPrefix("  some packets are lost: \(name) ") }, "\(lines)")
        }
        try host.set("net/ipv4/conf/all/ignore_routes_with_linkdown", "1")
        if !hasSourceRules {
            #expect(
                try run("what-if", "--each", "203.0.113.7").allSatisfy {
                    !$0.hasPrefix("  carrier") || !$0.contains(" lost ")
                })
        }
    }

    /// It said reachable, where a socket sends to some addresses and not to others.
    @Test(.needs(.veth))
    func `a recording does not decide which of two uplinks with source rules packets take`() throws {
        let host = try TestNamespace()
        for (name, address) in [("w0", "192.0.2.1/24"), ("w1", "198.51.100.1/24")] {
            try host.tunnel(name, address, kind: "tap")
        }
        try host.ip(
            "route add default nexthop via 192.0.2.9 dev w0 nexthop via 198.51.100.9 dev w1",
            "route add default via 192.0.2.9 table 100", "rule add from 192.0.2.1 lookup 100",
            "route add default via 198.51.100.9 table 200", "rule add from 198.51.100.1 lookup 200")
        let file = "/tmp/netflags-uplinks-\(getpid())"
        defer { unlink(file) }
        let targets = (1...16).map { "203.0.113.\($0)" }
        func recorded() throws -> [Int32] {
            #expect(try host.run([NetflagsProcess.path, "record", file]).status == 0)
            return try targets.map { try NetflagsProcess.run("--replay", file, $0).status ?? -1 }
        }
        #expect(try Set(recorded()) == [0])
        try host.setCarrier("w0", isPresent: false)
        #expect(try Set(targets.map { try host.run([NetflagsProcess.path, $0]).status }) == [0, 1])
        #expect(try Set(recorded()) == [2])
    }

    @Test(.needs(.veth)) func `of two links only what the kernel does not notice cuts a target off`() throws {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        try host.wire("w1", "198.51.100.1/24")
        try host.ip(
            "route add 203.0.113.0/24 via 192.0.2.9", "route add 203.0.113.0/24 via 198.51.100.9 metric 10",
            "rule add to 203.0.113.0/24 lookup main pref 50")
        func lost() throws -> [String] {
            let result = try host.run(
                host.entering([NetflagsProcess.path, "what-if", "--each", "203.0.113.7"]))
            #expect(result.output.contains("fallback  through gateway 198.51.100.9 on w1"))
            return result.output.split(separator: "\n").filter { $0.contains(" lost ") }
                .compactMap { $0.split(separator: " ").first.map(String.init) }
        }
        #expect(try lost() == ["carrier", "gateway"])
        try host.set("net/ipv4/conf/all/ignore_routes_with_linkdown", "1")
        #expect(try lost() == ["gateway"])
    }

    @Test(.needs(.veth))
    func `a gateway that another interface has, too, is a fallback`() throws {
        let host = try TestNamespace()
        for name in ["w0", "w1"] { try host.wire(name, "fe80::2/64") }
        try host.ip("addr add 2001:db8::2/128 dev lo")
        try host.ip("-6 route add default via fe80::1 dev w0 metric 100")
        try host.ip("-6 route add default via fe80::1 dev w1 metric 200")
        let result = try host.run([NetflagsProcess.path, "what-if", "--each", "--json", "2001:db8:f::1"])
        let losses = result.output.split(separator: "\n").compactMap { JSONValue($0) }
        let gateway = try #require(losses.first { $0["kind"]?.string == "gateway" })
        #expect(gateway["outcome"]?.string == "fallback")
        #expect(gateway["new"]?["interface"]?.string == "w1")
    }

    @Test(.needs(.veth))
    func `a loss whose effect is not recorded is unknown, with status 2`() throws {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.2/24", "192.0.2.3/24")
        try host.ip("route add default via 192.0.2.1")
        let file = "/tmp/netflags-losses-\(getpid())"
        defer { unlink(file) }
        #expect(try host.run([NetflagsProcess.path, "record", file]).status == 0)
        let result = try NetflagsProcess.run("what-if", "--each", "--replay", file, "198.51.100.1")
        #expect(result.status == 2)
        let row = try #require(result.lines.first { $0.contains("192.0.2.2/24") })
        #expect(row.contains("unknown") && row.contains("promote_secondaries"))
    }

    @Test(.needs(.veth)) func `of very many things some are taken away, and the others counted`() throws {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.2/24")
        let others = (0..<1_000).map { "addr add 10.1.\($0 / 250).\($0 % 250 + 1)/32 dev w0" }
        try host.ip(others + ["route add default via 192.0.2.1"])
        let result = try host.run([NetflagsProcess.path, "what-if", "--each", "198.51.100.1"])
        #expect(result.status == 2)
        let rows = result.output.split(separator: "\n").filter { $0.hasPrefix("  ") }
        #expect(rows.count == 250)
        // The interface, its carrier, the gateway, 1,001 addresses, the route and the rules that look into its table.
        #expect(result.output.contains(": 756 more things that it uses were not taken away"))
    }
}
