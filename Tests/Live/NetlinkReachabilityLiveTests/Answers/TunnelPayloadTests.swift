// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

/// The packets that tunnels send and drop, held against their counters and those of the wire below.
struct TunnelPayloadTests {
    private static let modes = [
        "ipip", "ipip mode ipip", "ipip mode mplsip", "ipip mode any", "sit", "sit mode ip6ip",
        "sit mode ipip",
        "sit mode mplsip", "ip6tnl", "ip6tnl mode ip6ip6", "ip6tnl mode ipip6", "gre", "ip6gre",
    ]

    /// A host whose tunnel `t0` has a remote end on a wire, and routes into the tunnel.
    private func host(_ mode: String, push labels: String = "") throws -> TestNamespace {
        let host = try TestNamespace.oneWire()
        let isIPv6 = mode.hasPrefix("ip6")
        let (local, remote) = isIPv6 ? ("2001:db8::1", "2001:db8::9") : ("192.0.2.1", "192.0.2.9")
        try host.ip(
            "neigh add \(remote) lladdr 02:00:00:00:00:09 dev w0",
            "link add t0 type \(mode) local \(local) remote \(remote)", "link set t0 up")
        try host.address("t0", "10.9.0.1/32", "2001:db8:9::1/128")
        try host.ip(
            "route add 10.1.0.0/16 \(labels) dev t0 src 10.9.0.1",
            "-6 route add 2001:db8:5::/48 \(labels) dev t0 src 2001:db8:9::1")
        return host
    }

    /// The packets that an interface has sent, and those that it could not send.
    private func counters(_ name: String, _ host: TestNamespace) throws -> (sent: Int, failed: Int) {
        let lines = try host.ip("-s link show dev \(name)").split(separator: "\n")
        let place = try #require(lines.firstIndex { $0.contains("TX:") })
        let fields = lines[place + 1].split(separator: " ").compactMap { Int($0) }
        return (fields[1], fields[2])
    }

    /// Whether a datagram to an address arrives at the end of the wire; otherwise the tunnel has to count an error.
    private func isSent(_ target: String, _ host: TestNamespace) throws -> Bool {
        let tunnel = try counters("t0", host)
        // The sender sees no error.
        let isSent = try host.arrivals(at: "w0-far", of: [target]).contains(target)
        try host.wait(until: "the tunnel counts the packet") {
            let now = try counters("t0", host)
            return now.sent > tunnel.sent || now.failed > tunnel.failed
        }
        #expect(try (counters("t0", host).failed > tunnel.failed) != isSent)
        return isSent
    }

    private func expectAgreement(_ host: TestNamespace, _ reason: String, _ targets: [String]) throws
        -> [Bool]
    {
        try targets.map { target in
            let isSent = try isSent(target, host)
            try host.expect(
                .host(target), isSent ? .tunnelled : .none, isSent ? reason : "payloadNotCarried",
                through: "t0")
            return isSent
        }
    }

    @Test(.needs(.veth, .ipTunnels), arguments: modes)
    func `a target is reachable through a tunnel that sends packets of its family`(mode: String) throws {
        let sent = try expectAgreement(host(mode), "pointToPoint", ["10.1.1.1", "2001:db8:5::1"])
        switch mode {
        case "ipip", "ipip mode ipip", "ipip mode any", "ip6tnl mode ipip6": #expect(sent == [true, false])
        case "ipip mode mplsip": #expect(sent == [false, false])
        case "ip6tnl mode ip6ip6": #expect(sent == [false, true])
        default: #expect(sent == [true, true])
        }
    }

    @Test(.needs(.veth, .ipTunnels, .mpls), arguments: modes)
    func `a target behind labels is reachable through a tunnel that sends labels`(mode: String) throws {
        let host = try host(mode, push: "encap mpls 100")
        let sent = try expectAgreement(host, "encapsulated", ["10.1.1.1", "2001:db8:5::1"])
        let drops = ["ipip mode ipip", "ip6tnl mode ip6ip6", "ip6tnl mode ipip6"].contains(mode)
        #expect(sent == [!drops, !drops])
    }

    @Test(.needs(.veth, .ipTunnels)) func `a target follows the mode of its tunnel`() throws {
        let host = try host("ip6tnl mode ip6ip6")
        try host.expect("10.1.1.1", .none, "payloadNotCarried", through: "t0")
        try host.ip("link set t0 type ip6tnl mode any local 2001:db8::1 remote 2001:db8::9")
        try host.expect("10.1.1.1", .tunnelled, "pointToPoint", through: "t0")
    }
}
