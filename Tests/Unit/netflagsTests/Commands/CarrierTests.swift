// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

/// What carries tunnels, against the counters of the interfaces and the routes of real VPNs.
@Suite(.needs(.veth, .vxlan, .tun))
struct CarrierTests {
    /// The other end of the tunnel, in its network.
    static let target = "10.9.0.9"
    static let wires = ["w0": "192.0.2", "w1": "198.51.100", "w2": "203.0.113"]

    // MARK: Transmit counters

    /// A vxlan over drawn routes: with and without an interface, a local address, a mark of the socket, a second
    /// tunnel, and a second remote end.
    private struct Draw {
        var commands: [String] = []
        var mark = 0
        var hasOtherRemote = false

        init(_ random: inout SeededGenerator) {
            let names = CarrierTests.wires.keys.sorted()
            func gateway(_ name: String) -> String { "\(CarrierTests.wires[name] ?? "").254" }
            // On a link, behind a gateway, and nowhere.
            let remotes =
                CarrierTests.wires.values.sorted().map { "\($0).9" } + [
                    "10.77.0.9", "10.88.0.9", "10.99.0.9",
                ]
            let remote = random.pick(remotes)
            commands.append("route add 10.77.0.0/16 via \(gateway(random.pick(names))) metric 5")
            commands.append("route add 10.77.0.0/16 via \(gateway(random.pick(names))) metric 9")
            commands.append("route add 10.88.0.0/16 via \(gateway(random.pick(names)))")
            if random.pick([true, false, false]) {
                commands.append("route add \(remote)/32 via \(gateway(random.pick(names))) table 100")
                commands.append("rule add fwmark 7 table 100")
            }
            mark = random.pick([0, 0, 7])
            if random.pick([true, false, false, false]) {
                commands.append(
                    "rule add to \(remote) \(random.pick(["prohibit", "blackhole", "unreachable"]))")
            }
            var ends = "remote \(remote)"
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1: ends += " dev \(random.pick(names))"
            case 2: ends += " local \(CarrierTests.wires[random.pick(names)] ?? "").1"
            case 3 where random.pick([true, false]): ends += " local 203.0.113.77"
            default: break
            }
            let isNested = random.pick([true, false, false])
            let outer = isNested ? "x1" : "x0"
            commands += [
                "link add \(outer) type vxlan id 7 dstport 4789 \(ends)", "link set \(outer) up",
            ]
            if isNested {
                commands += [
                    "addr add 10.8.0.1/24 dev x1", "neigh add 10.8.0.9 lladdr 02:00:00:00:08:09 dev x1",
                    "link add x0 type vxlan id 8 dstport 4790 remote 10.8.0.9", "link set x0 up",
                ]
            }
            commands += [
                "addr add 10.9.0.1/24 dev x0",
                "neigh add \(CarrierTests.target) lladdr 02:00:00:00:09:09 dev x0",
            ]
            hasOtherRemote = random.pick([true, false, false, false])
            if hasOtherRemote {
                commands.append("fdb:02:00:00:00:09:09 dev \(outer) dst 192.0.2.10")
            }
        }
    }

    /// Adds the wires, each with its network.
    func addWires(to host: TestNamespace) throws {
        for (name, network) in Self.wires.sorted(by: { $0.key < $1.key }) {
            try host.wire(name, "\(network).1/24")
            // Packets leave at once, although no host answers: also those to a remote end of another link, which a
            // tunnel that is bound to this one looks for here.
            let near = Self.wires.values.sorted().flatMap { network in
                [9, 10, 254].map { "\(network).\($0)" }
            }
            try host.ip(
                (near + ["10.77.0.9", "10.88.0.9", "10.99.0.9"]).map {
                    "neigh add \($0) lladdr 02:00:00:00:00:01 dev \(name)"
                })
        }
    }

    private func makeHost(_ draw: Draw) throws -> TestNamespace {
        let host = try TestNamespace()
        try addWires(to: host)
        for command in draw.commands {
            if command.hasPrefix("fdb:") {
                try host.shell("bridge fdb add \(command.dropFirst(4))")
            } else {
                // Two routes of one metric can be drawn twice.
                _ = try host.run(["ip"] + command.split(separator: " ").map(String.init))
            }
        }
        return host
    }

    /// How many packets each wire has sent.
    func sent(by host: TestNamespace) throws -> [String: Double] {
        let output = try host.ip("-s -j link show")
        let links = try #require(JSONValue(output.split(separator: "\n").joined())).elements
        var counts: [String: Double] = [:]
        for link in links {
            guard let name = link["ifname"]?.string, Self.wires[name] != nil else { continue }
            counts[name] = link["stats64"]?["tx"]?["packets"]?.number
        }
        return counts
    }

    /// The wires that send what is sent through the tunnel.
    func senders(_ host: TestNamespace) throws -> Set<String> {
        let before = try sent(by: host)
        // The namespace has no server: what counts is whether the data leaves.
        _ = try host.command(["exchange"])
        let after = try sent(by: host)
        #expect(before.count == Self.wires.count)
        return Set(after.filter { $0.value > before[$0.key] ?? 0 }.keys)
    }

    /// What the program says: the wires that carry the tunnel, whether exactly, and whether packets can leave.
    func answer(
        _ host: TestNamespace, mark: Int
    ) throws -> (wires: Set<String>, isExact: Bool, letters: String, words: String) {
        let arguments = ["--json", "--explain", "--mark", "\(mark)", Self.target]
        let output = try host.run([NetflagsProcess.path] + arguments).output
        let row = try #require(JSONValue(output.split(separator: "\n").joined()), "\(output)")
        let carriers = row["carriers"]?.elements ?? []
        #expect(!carriers.isEmpty)
        let wires = carriers.compactMap { $0["interface"]?.string }.filter { Self.wires[$0] != nil }
        let isExact = carriers.allSatisfy { $0["isExact"] == .bool(true) }
        return (
            Set(wires), isExact, row["letters"]?.string ?? "", "\(row["reason"]?.string ?? "") \(carriers)"
        )
    }

    @Test(arguments: [45, 46, 47, 48] as [UInt64])
    func `an exact carrier is the wire whose counter grows, and without one none grows`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<6 {
            let draw = Draw(&random)
            let host = try makeHost(draw)
            let options = draw.mark == 0 ? [] : ["mark=\(draw.mark)"]
            _ = try host.command(["connect", "udp", Self.target] + options)
            try cutEachWire(of: host) { try check(host, draw, $0) }
        }
    }

    /// Cuts each wire in turn, and checks before and while it is cut.
    func cutEachWire(of host: TestNamespace, _ check: (_ state: String) throws -> Void) throws {
        try check("as drawn")
        for wire in Self.wires.keys.sorted() {
            try host.ip("link set \(wire)-far down")
            try host.wait(for: wire, state: "DOWN")
            try check("without \(wire)")
            try host.ip("link set \(wire)-far up")
            try host.wait(for: wire, state: "UP")
        }
    }

    private func check(
        _ host: TestNamespace, _ draw: Draw, _ state: String
    ) throws {
        let (wires, isExact, letters, words) = try answer(host, mark: draw.mark)
        let comment = Comment(rawValue: "\(state), mark \(draw.mark): \(draw.commands): \(letters) \(words)")
        #expect(isExact == !draw.hasOtherRemote, comment)
        // An inferred or unknown carrier changes no flag.
        guard isExact else {
            #expect(!letters.contains("c"), comment)
            return
        }
        let senders = try senders(host)
        if letters.contains("c") {
            #expect(senders == [], comment)
        } else {
            #expect(senders == wires, comment)
        }
    }

    // MARK: IPsec

    @Test(.needs(.xfrm, .ipsecPolicies))
    func `what carries an interface of IPsec is unknown, and not the wire that it is bound to`() throws {
        let host = try TestNamespace()
        try addWires(to: host)
        // The route to the remote end leads to another wire than the interface is bound to.
        let ends = "src 192.0.2.1 dst 198.51.100.9"
        try host.ip("link add x0 type xfrm dev w0 if_id 7", "link set x0 up", "addr add 10.9.0.1/24 dev x0")
        try host.shell(
            """
            ip xfrm state add \(ends) proto esp spi 0x100 reqid 7 mode tunnel if_id 7 \
                auth digest_null '' enc 'ecb(cipher_null)' ''
            ip xfrm policy add src 0.0.0.0/0 dst 0.0.0.0/0 dir out if_id 7 \
                tmpl \(ends) proto esp reqid 7 mode tunnel
            """)
        _ = try host.command(["connect", "udp", Self.target])
        try cutEachWire(of: host) { state in
            let (wires, isExact, letters, words) = try answer(host, mark: 0)
            let comment = Comment(rawValue: "\(state): \(letters) \(words)")
            #expect(!isExact && wires == [] && letters.contains("R") && !letters.contains("c"), comment)
            #expect(try senders(host) == (state == "without w1" ? [] : ["w1"]), comment)
        }
    }

    // MARK: Real VPNs' routes

    /// The line of `netflags path` about carriers, if a command starts it.
    func carriers(_ host: TestNamespace, as prefix: [String] = []) throws -> String {
        let output = try host.run(prefix + [NetflagsProcess.path, "path"]).output
        let line = output.split(separator: "\n").first { $0.hasPrefix("carriers") }
        return String(line?.drop { $0 != " " }.drop { $0 == " " } ?? "none: \(output)")
    }

    /// The sockets of a VPN's program are those of any other, so a counter shows where its packets leave.
    @Test func `an inferred carrier is the wire whose counter grows`() throws {
        let host = try TestNamespace()
        try addWires(to: host)
        try host.ip("route add default via 192.0.2.254")
        try host.tunnel("tun0", "10.8.0.2/24")
        func expectCarrier(_ words: String, _ wire: String, socket: [String]) throws {
            #expect(try carriers(host) == "tun0 is carried by \(wire) \(words)")
            _ = try host.command(["connect", "udp", "10.77.0.9"] + socket)
            #expect(try senders(host) == [wire])
        }
        // As OpenVPN does it, and as openconnect and NetworkManager do.
        try host.ip("route add 0.0.0.0/1 dev tun0", "route add 128.0.0.0/1 dev tun0")
        #expect(try carriers(host) == "what carries tun0 is not known")
        try host.ip("route add 10.77.0.9 via 198.51.100.254")
        try expectCarrier("(to 10.77.0.9; inferred from a host route)", "w1", socket: [])
        try host.ip(
            "route del 0.0.0.0/1", "route del 128.0.0.0/1", "route replace default dev tun0",
            "route replace 10.77.0.9 via 203.0.113.254")
        try expectCarrier("(to 10.77.0.9; inferred from a host route)", "w2", socket: [])
        // As wg-quick and Tailscale do it.
        try host.ip(
            "route del 10.77.0.9", "route del default", "route add default via 192.0.2.254",
            "route add default dev tun0 table 51820")
        try host.ip("rule add not fwmark 51820 table 51820", "rule add table main suppress_prefixlength 0")
        try expectCarrier("(mark 51820; inferred from a rule)", "w0", socket: ["mark=51820"])
    }
}
