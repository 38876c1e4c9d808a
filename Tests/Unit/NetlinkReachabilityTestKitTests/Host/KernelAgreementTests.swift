// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import NetlinkReachability
import NetlinkReachabilityTestKit
import TestNamespaces
import Testing

/// The same steps in a namespace of the running kernel and in a simulated network, with the same flags after each.
@Suite(.needs(.veth))
struct KernelAgreementTests {
    private static let queries = [
        "192.0.2.1", "192.0.2.2", "192.0.2.255", "198.51.100.7", "203.0.113.1", "127.0.0.1", "224.0.0.251",
        "2001:db8::2", "2001:db8::9", "2001:db8:1::9", "::1", "fe80::9%eth0", "ff02::1%eth0", "ff05::2%eth0",
    ]

    private let network = SimulatedNetwork()
    private let host: TestNamespace
    private let peer: TestNamespace

    init() throws {
        host = try TestNamespace()
        peer = try host.makePeer()
        // As on every other machine: the kernel makes link-local addresses.
        try host.set("net/ipv6/conf/default/addr_gen_mode", "0")
    }

    @Test func `the kit agrees with the kernel step by step`() async throws {
        try setUpBoth()
        try await compare("set up")
        try lose()
        try await compare("carrier off")
        try regain()
        try await compare("carrier on")
        try host.ip("route del default", "-6 route del default")
        try network.change { host in
            try host.removeRoute(SimulatedRoute(to: .allV4))
            try host.removeRoute(SimulatedRoute(to: .allV6))
        }
        try await compare("default routes deleted")
        try addDefaults()
        try await compare("default routes added")
        try host.ip("link set eth0 down")
        try network.change { try $0.setDown("eth0") }
        try await compare("link down")
        try host.ip("link set eth0 up")
        try waitForLink()
        try network.change { try $0.setUp("eth0") }
        try await compare("link up")
        try host.address("eth0", "2001:db8::2/64")
        try network.change { try $0.addAddress("2001:db8::2", prefixLength: 64, to: "eth0") }
        try addDefaults()
        try await compare("everything added again")
        try host.ip("addr del 192.0.2.2/24 dev eth0")
        try network.change { try $0.removeAddress("192.0.2.2", from: "eth0") }
        try await compare("IPv4 address removed")
        try host.ip("addr del 2001:db8::2/64 dev eth0")
        try network.change { try $0.removeAddress("2001:db8::2", from: "eth0") }
        try await compare("IPv6 address removed")
        try host.ip("link del eth0")
        try network.change { try $0.removeInterface("eth0") }
        try await compare("link deleted")
    }

    @Test func `the kit agrees about secondary addresses, rejections, rules and a lost carrier`()
        async throws
    {
        try setUpBoth()
        try host.ip("addr add 192.0.2.3/24 dev eth0", "addr add 203.0.113.2/30 dev eth0")
        try network.change { host in
            try host.addAddress("192.0.2.3", prefixLength: 24, to: "eth0")
            try host.addAddress("203.0.113.2", prefixLength: 30, to: "eth0")
        }
        try await compare("more addresses")
        try host.ip("addr del 192.0.2.2/24 dev eth0")
        try network.change { try $0.removeAddress("192.0.2.2", from: "eth0") }
        try await compare("a first address removed, and its second one with it")
        try host.ip(
            "route add blackhole 198.51.100.0/24", "-6 route add unreachable 2001:db8:1::/48",
            "route add 192.0.2.0/24 dev eth0 metric 5"
        )
        try network.change { host in
            try host.addRoute(SimulatedRoute(to: "198.51.100.0/24", kind: .blackhole))
            try host.addRoute(SimulatedRoute(to: "2001:db8:1::/48", kind: .unreachable))
            try host.addRoute(SimulatedRoute(to: "192.0.2.0/24", through: "eth0", metric: 5))
        }
        try await compare("refusals")
        try host.ip("rule add to 192.0.2.0/24 prohibit pref 7")
        try network.change {
            try $0.apply("rule add to 192.0.2.0/24 prohibit pref 7")
        }
        try await compare("a rule")
        try lose()
        try host.ip("rule del pref 7", "route add 203.0.113.128/25 dev eth0")
        try network.change { host in
            try host.apply("rule del pref 7")
            try host.addRoute(SimulatedRoute(to: "203.0.113.128/25", through: "eth0"))
        }
        try await compare("changes without a carrier")
        try regain()
        try await compare("the carrier again")
    }

    @Test(.needs(.tun))
    func `the kit agrees about a tunnel`() async throws {
        let queries = [
            "198.51.100.7", "10.8.0.2", "10.8.0.9", "2001:db8:8::9", "2001:db8:8::2", "fe80::9%tun0",
            "ff02::1%tun0",
        ]
        try host.tunnel("tun0", "10.8.0.2/24", "2001:db8:8::2/64")
        try host.ip("route add default dev tun0")
        try network.change { host in
            try host.addInterface("tun0", .tunnel)
            try host.addAddress("10.8.0.2", prefixLength: 24, to: "tun0")
            try host.addAddress("2001:db8:8::2", prefixLength: 64, to: "tun0")
            try host.addRoute(SimulatedRoute(to: .allV4, through: "tun0"))
        }
        try await compare("a tunnel", queries)
        try host.setCarrier("tun0", isPresent: false)
        try network.change { try $0.setCarrier("tun0", isPresent: false) }
        try await compare("a tunnel without a process", queries)
        try host.setCarrier("tun0", isPresent: true)
        try network.change { try $0.setCarrier("tun0", isPresent: true) }
        try await compare("a tunnel with a process again", queries)
        try host.ip("link set tun0 down")
        try network.change { try $0.setDown("tun0") }
        try await compare("a tunnel that is down", queries)
        try host.command(["close-tunnel", "tun0"])
        try network.change { try $0.removeInterface("tun0") }
        try await compare("no tunnel", queries)
    }

    @Test(.needs(.bridge))
    func `the kit agrees about a bridge`() async throws {
        let queries = ["192.0.2.9", "198.51.100.7", "fe80::9%br0", "192.0.2.3"]
        try host.wire("eth0", to: peer)
        try host.ip("link add br0 type bridge", "link set eth0 master br0", "link set br0 up")
        try host.wait(for: "br0", state: "UP")
        try host.wait(until: "br0 has a link-local address") {
            try host.ip("-o -6 route show table local dev br0").contains("local fe80::")
        }
        try host.ip("addr add 192.0.2.3/24 dev br0", "route add default via 192.0.2.1")
        try network.change { host in
            try host.addInterface("br0", .bridge)
            try host.addInterface("eth0", bridge: "br0")
            try host.addAddress("192.0.2.3", prefixLength: 24, to: "br0")
            try host.addRoute(.default(via: "192.0.2.1"))
        }
        try await compare("a bridge", queries)
        try peer.ip("link set eth0-far down")
        try host.wait(for: "br0", state: "DOWN")
        try network.change { try $0.setCarrier("eth0", isPresent: false) }
        try await compare("a bridge whose port has no carrier", queries)
        try peer.ip("link set eth0-far up")
        try host.wait(for: "br0", state: "UP")
        try network.change { try $0.setCarrier("eth0", isPresent: true) }
        try await compare("a bridge whose port has a carrier again", queries)
    }

    // MARK: Steps

    private func setUpBoth() throws {
        try host.wire("eth0", "192.0.2.2/24", "2001:db8::2/64", to: peer)
        try waitForLink()
        try network.change { host in
            try host.addInterface("eth0")
            try host.addAddress("192.0.2.2", prefixLength: 24, to: "eth0")
            try host.addAddress("2001:db8::2", prefixLength: 64, to: "eth0")
        }
        try addDefaults()
    }

    private func addDefaults() throws {
        try host.ip("route add default via 192.0.2.1", "-6 route add default via 2001:db8::1")
        try network.change { host in
            try host.addRoute(.default(via: "192.0.2.1"))
            try host.addRoute(.default(via: "2001:db8::1"))
        }
    }

    private func lose() throws {
        try peer.ip("link set eth0-far down")
        try host.wait(for: "eth0", state: "DOWN")
        try network.change { try $0.setCarrier("eth0", isPresent: false) }
    }

    private func regain() throws {
        try peer.ip("link set eth0-far up")
        try waitForLink()
        try network.change { try $0.setCarrier("eth0", isPresent: true) }
    }

    /// The kernel sets IPv6 up in its own time.
    private func waitForLink() throws {
        try host.wait(for: "eth0", state: "UP")
        try host.wait(until: "eth0 has a link-local address") {
            try host.ip("-o -6 route show table local").contains("local fe80::")
        }
    }

    // MARK: Comparison

    private func compare(
        _ step: String,
        _ queries: [String] = Self.queries,
        at location: SourceLocation = #_sourceLocation
    ) async throws {
        try await network.settle()
        for query in queries {
            let live = try host.ask("\(query)")
            let simulated = answer(to: query)
            #expect(
                (live.error ?? live.flags.letters) == simulated.flags,
                "\(query) after: \(step)",
                sourceLocation: location
            )
            let source = Self.withoutHardwareAddress(live.source)
            #expect(
                source == Self.withoutHardwareAddress(simulated.source),
                "the source for \(query) after: \(step)",
                sourceLocation: location
            )
        }
        let live = try host.ask(.defaultPath)
        let path = NetworkReachability(target: .defaultPath, source: network.source)
        let flags = try await path.flags()
        #expect(flags == live.flags, "the default path after: \(step)", sourceLocation: location)
    }

    /// The flags, or the code of an error, and the source address.
    private func answer(to query: String) -> (flags: String, source: String) {
        do throws(ReachabilityError) {
            let report = try NetworkReachability(host: query, source: network.source).blockingReport()
            return (report.flags.letters, report.sourceAddress.map { "\($0)" } ?? "")
        } catch {
            return ("\(error.code)", "")
        }
    }

    /// Every link has another hardware address, and its link-local address is made of that.
    private static func withoutHardwareAddress(_ source: String) -> String {
        source.hasPrefix("fe80::") ? "fe80::" : source
    }
}
