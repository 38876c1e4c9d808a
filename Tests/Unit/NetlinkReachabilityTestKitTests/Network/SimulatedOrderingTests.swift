// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing

/// The order of addresses in a simulated network.
struct SimulatedOrderingTests {
    private let network = SimulatedNetwork()
    private let far4 = IPAddress(198, 51, 100, 7)
    private let near4 = IPAddress(192, 0, 2, 9)

    /// A host with IPv4 alone, or with both families.
    private init() throws {
        try network.change { host in
            try host.addInterface("eth0")
            try host.addAddress("192.0.2.2", prefixLength: 24, to: "eth0")
            try host.addRoute(.default(via: "192.0.2.1"))
        }
    }

    private func addIPv6(_ address: IPAddress = "2001:db8::2") throws {
        try network.change { host in
            try host.addAddress(address, prefixLength: 64, to: "eth0")
            try host.addRoute(.default(via: "fe80::1", through: "eth0"))
        }
    }

    private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

    /// The ranks, addresses and rules of a list.
    private func lines(_ list: [OrderedAddress]) -> [String] {
        list.map { "\($0.rank ?? 0) \($0.address) \($0.rule?.description ?? "")" }
    }

    @Test func `an address without a route comes last and has no rank`() throws {
        let list = try network.source.blockingValue(of: .order(of: [address("2001:db8::9"), far4]))
        #expect(lines(list) == ["1 198.51.100.7 ", "0 2001:db8::9 rule 1: unreachable"])
        #expect(list.map(\.isReachable) == [true, false])
        #expect(list[0].sourceAddress == IPAddress(192, 0, 2, 2) && list[1].sourceAddress == nil)
        #expect(list[0].interface?.name == "eth0" && list[0].gateway == IPAddress(192, 0, 2, 1))
        #expect(list[1].reason.code == .noRoute)
    }

    @Test func `an address behind a lost carrier has a route and comes last`() throws {
        try network.change { host in
            try host.addInterface("eth1")
            try host.addAddress("10.0.0.2", prefixLength: 24, to: "eth1")
        }
        let addresses = [IPAddress(10, 0, 0, 9), far4]
        #expect(lines(try network.source.blockingValue(of: .order(of: addresses)))[0] == "1 10.0.0.9 ")
        try network.change { try $0.setCarrier("eth1", isPresent: false) }
        #expect(
            lines(try network.source.blockingValue(of: .order(of: addresses))) == [
                "1 198.51.100.7 ", "0 10.0.0.9 rule 1: unreachable",
            ])
    }

    @Test func `IPv6 comes first where it has a route, and a unique local source not`() throws {
        try addIPv6()
        let addresses = [far4, try address("2600::1")]
        #expect(
            lines(try network.source.blockingValue(of: .order(of: addresses))) == [
                "1 2600::1 ", "2 198.51.100.7 rule 6: precedence",
            ])
        try network.change { host in
            try host.removeAddress("2001:db8::2", from: "eth0")
            try host.addAddress("fd00::2", prefixLength: 64, to: "eth0")
        }
        #expect(
            lines(try network.source.blockingValue(of: .order(of: addresses))) == [
                "1 198.51.100.7 ", "2 2600::1 rule 5: label",
            ])
    }

    @Test func `the policy is the caller's, and otherwise the standard one`() throws {
        try addIPv6()
        let policy = AddressPolicy(gaiConf: "precedence ::ffff:0:0/96 100")
        let list = try network.source.blockingValue(
            of: .order(of: [try address("2600::1"), far4], policy: policy))
        #expect(lines(list) == ["1 198.51.100.7 ", "2 2600::1 rule 6: precedence"])
    }

    @Test func `families alternate on request, and what cannot be reached stays last`() throws {
        try addIPv6()
        try network.change { try $0.addRoute(SimulatedRoute(to: "203.0.113.0/24", kind: .unreachable)) }
        let v6 = try ["2600::1", "2600::2", "2600::3"].map { try address($0) }
        let list = try network.source.blockingValue(
            of: .order(of: [IPAddress(203, 0, 113, 1), far4] + v6, interleaved: true))
        #expect(
            lines(list) == [
                "1 2600::1 ", "2 198.51.100.7 rule 6: precedence", "3 2600::2 RFC 8305: interleaved",
                "4 2600::3 rule 10: order given", "0 203.0.113.1 rule 1: unreachable",
            ])
    }

    @Test func `the options are those of the socket`() throws {
        try addIPv6()
        var options = ReachabilityOptions()
        options.families = .v4
        let both = [try address("2600::1"), far4]
        #expect(
            lines(try network.source.blockingValue(of: .order(of: both, options: options))) == [
                "1 198.51.100.7 "
            ])
        options = ReachabilityOptions()
        options.sourceAddress = try address("2001:db8::2")
        let list = try network.source.blockingValue(of: .order(of: both, options: options))
        #expect(lines(list) == ["1 2600::1 ", "0 198.51.100.7 rule 1: unreachable"])
        #expect(list[0].sourceAddress == options.sourceAddress)
    }

    @Test func `a mapped address is ordered as the IPv4 address`() throws {
        let mapped = try address("::ffff:192.0.2.9")
        let list = try network.source.blockingValue(of: .order(of: [far4, mapped]))
        #expect(lines(list) == ["1 ::ffff:192.0.2.9 ", "2 198.51.100.7 rule 9: longest prefix"])
    }

    @Test func `any number of addresses is ordered`() throws {
        #expect(try network.source.blockingValue(of: .order(of: [])) == [])
        let many = (0..<600).map { $0 % 2 == 0 ? far4 : near4 }
        let list = try network.source.blockingValue(of: .order(of: many))
        #expect(
            list.map(\.address) == Array(repeating: near4, count: 300) + Array(repeating: far4, count: 300))
        #expect(list.compactMap(\.rank) == Array(1...600))
    }

    @Test func `the addresses of a name are ordered, and a name without addresses has none`() async throws {
        network.change { $0.names["example.com"] = .addresses("2600::1", "198.51.100.7") }
        let expected = ["1 198.51.100.7 ", "0 2600::1 rule 1: unreachable"]
        #expect(lines(try await network.source.value(of: .order(of: .host("example.com")))) == expected)
        #expect(try await network.source.value(of: .order(of: .host("unknown.example"))) == [])
        let source = network.source
        let blocking = { try source.blockingValue(of: .order(of: .host("example.com"))) }
        #expect(lines(try blocking()) == expected)
    }

    @Test func `a pair is the remote address from the local one`() async throws {
        let list = try await network.source.value(
            of: .order(of: .pair(local: IPAddress(192, 0, 2, 2), remote: far4)))
        #expect(list.map(\.sourceAddress) == [IPAddress(192, 0, 2, 2)])
        let foreign = try await network.source.value(of: .order(of: .pair(local: near4, remote: far4)))
        #expect(foreign.map(\.rank) == [nil])
    }

    @Test func `an address in a zone that does not exist comes last, and says so`() throws {
        let stray = try address("fe80::1%nowhere")
        let list = try network.source.blockingValue(of: .order(of: [stray, far4]))
        #expect(list.map(\.address) == [far4, stray])
        #expect(list.last?.reason.code == .noInterface)
    }
}
