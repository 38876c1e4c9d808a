// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

/// What carries the peers of the kernel's own WireGuard.
extension CarrierTests {
    /// Where a drawn WireGuard sends, and by which rules.
    private struct Peers {
        var commands: [String] = []
        var mark = 0
        /// The endpoint and the allowed addresses of each peer.
        var peers: [(endpoint: String, allowed: String)] = []

        init(_ random: inout SeededGenerator) {
            let names = CarrierTests.wires.keys.sorted()
            func gateway() -> String { "\(CarrierTests.wires[random.pick(names)] ?? "").254" }
            let remotes =
                CarrierTests.wires.values.sorted().map { "\($0).9" } + [
                    "10.77.0.9", "10.88.0.9", "10.99.0.9",
                ]
            commands.append("route add 10.77.0.0/16 via \(gateway()) metric 5")
            commands.append("route add 10.77.0.0/16 via \(gateway()) metric 9")
            commands.append("route add 10.88.0.0/16 via \(gateway())")
            peers.append((random.pick(remotes), "0.0.0.0/0"))
            let longer = ["10.9.0.0/24", "\(CarrierTests.target)/32"]
            if random.pick([true, false]) { peers.append((random.pick(remotes), random.pick(longer))) }
            mark = random.pick([0, 7])
            let selectors = ["fwmark 7", "ipproto udp dport 51820", "ipproto udp sport 41000", "sport 1"]
            if random.pick([true, false]) {
                let remote = random.pick(peers).endpoint
                commands.append("route add \(remote)/32 via \(gateway()) table 100")
                commands.append("rule add \(random.pick(selectors)) table 100")
            }
            if random.pick([true, false, false, false]) {
                commands.append(
                    "rule add to \(peers[0].endpoint) \(random.pick(["prohibit", "blackhole", "unreachable"]))"
                )
            }
        }
    }

    /// Makes wg0, whose peers ``setPeers(of:_:)`` sets.
    private func addWireGuard(to host: TestNamespace, mark: Int) throws {
        try host.ip("link add wg0 type wireguard")
        try host.shell("wg genkey | wg set wg0 listen-port 41000 fwmark \(mark) private-key /proc/self/fd/0")
    }

    /// Sets the peers anew: the first packet to each then makes it send at once, although none ever answers.
    private func setPeers(of host: TestNamespace, _ peers: [(endpoint: String, allowed: String)]) throws {
        try host.shell("for peer in $(wg show wg0 peers); do wg set wg0 peer $peer remove; done")
        for peer in peers {
            try host.shell(
                "wg set wg0 peer $(wg genkey | wg pubkey) endpoint \(peer.endpoint):51820 allowed-ips \(peer.allowed)"
            )
        }
    }

    @Test(
        .needs(.wireguardPeers),
        arguments: [45, 46, 47] as [UInt64])
    func `a WireGuard peer is sent to through the wire that is named, and not while it waits`(
        seed: UInt64
    ) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<4 {
            let draw = Peers(&random)
            let host = try TestNamespace()
            try addWires(to: host)
            for command in draw.commands {
                // Two routes of one metric can be drawn twice.
                _ = try host.run(["ip"] + command.split(separator: " ").map(String.init))
            }
            try addWireGuard(to: host, mark: draw.mark)
            try host.ip("addr add 10.9.0.1/24 dev wg0", "link set wg0 up")
            _ = try host.command(["connect", "udp", Self.target])
            try cutEachWire(of: host) { try check(host, draw, $0) }
        }
    }

    private func check(_ host: TestNamespace, _ draw: Peers, _ state: String) throws {
        try setPeers(of: host, draw.peers)
        let (wires, isExact, letters, words) = try answer(host, mark: 0)
        let comment = Comment(
            rawValue: "\(state), mark \(draw.mark), \(draw.peers): \(draw.commands): \(letters) \(words)")
        #expect(isExact, comment)
        let before = try sent(by: host)
        _ = try host.command(["exchange"])
        // It is another thread of the kernel that sends.
        var senders: Set<String> = []
        for _ in 0..<(letters.contains("c") ? 5 : 100) where senders.isEmpty {
            usleep(50_000)
            senders = Set(try sent(by: host).filter { $0.value > before[$0.key] ?? 0 }.keys)
        }
        #expect(senders == (letters.contains("c") ? [] : wires), comment)
    }

    @Test(.needs(.wireguardPeers))
    func `the endpoint of a WireGuard peer is known where it is shown, and inferred elsewhere`() throws {
        let host = try TestNamespace()
        try addWires(to: host)
        try host.ip("route add default via 192.0.2.254")
        try addWireGuard(to: host, mark: 51_820)
        try setPeers(of: host, [("198.51.100.9", "0.0.0.0/0")])
        try host.ip(
            "addr add 10.9.0.1/24 dev wg0", "link set wg0 up", "route add default dev wg0 table 51820")
        try host.ip("rule add not fwmark 51820 table 51820", "rule add table main suppress_prefixlength 0")
        #expect(try carriers(host) == "wg0 is carried by w1 (to 198.51.100.9, mark 51820)")
        let withoutCapability = ["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin"]
        #expect(
            try carriers(host, as: withoutCapability)
                == "wg0 is carried by w0 (mark 51820; inferred from a rule)")
    }

    @Test(.needs(.wireguardPeers))
    func `a WireGuard that was moved sends elsewhere, where this namespace does not see it`() throws {
        let host = try TestNamespace()
        try addWires(to: host)
        let inner = try host.makePeer()
        try addWireGuard(to: host, mark: 0)
        try setPeers(of: host, [("198.51.100.9", "0.0.0.0/0")])
        try host.ip("link set wg0 netns \(inner.processIdentifier)")
        try inner.ip("addr add 10.9.0.1/24 dev wg0", "link set wg0 up", "route add default dev wg0")
        #expect(try carriers(inner) == "what carries wg0 is not known")
        let before = try sent(by: host)
        _ = try inner.command(["connect", "udp", "203.0.113.77"])
        _ = try inner.command(["exchange"])
        for _ in 0..<100 where try sent(by: host) == before { usleep(50_000) }
        #expect(try sent(by: host) != before)
    }
}
