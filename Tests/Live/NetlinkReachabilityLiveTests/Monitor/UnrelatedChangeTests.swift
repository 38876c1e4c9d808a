// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

/// Changes that concern nothing that is followed, as the starts and ends of containers.
struct UnrelatedChangeTests {
    /// The start and the end of a container: a bridge port, addresses, routes, rules.
    private static func container(_ number: Int) -> [String] {
        let (name, subnet) = ("ct\(number)", "10.\(number / 200 % 200).\(number % 200)")
        let start = [
            "link add \(name) type veth peer name \(name)-in", "link set \(name) master docker0",
            "link set \(name) up", "link set \(name)-in up", "addr add \(subnet).1/24 dev docker0",
            "addr add \(subnet).2/32 dev \(name)-in", "route add 172.20.\(number % 200).0/24 via \(subnet).2",
            "rule add pref 500 from \(subnet).0/24 lookup 77",
            "route add 172.21.0.0/16 via \(subnet).2 table 77",
        ]
        let end = ["rule del pref 500", "link del \(name)", "addr del \(subnet).1/24 dev docker0"]
        return start + end
    }

    @Test(.needs(.veth, .bridge))
    func `a thousand containers call no handler and no sequence, and a lost default route calls each once`()
        throws
    {
        let host = try TestNamespace()
        try host.wire("eth0", "192.0.2.2/24")
        try host.ip("route add default via 192.0.2.1", "link add docker0 type bridge", "link set docker0 up")
        let counts = try host.command(["bystanders", "192.0.2.2"]).compactMap { Int($0) }
        func deliveries() throws -> [Int] { try host.command(["deliveries"]).compactMap { Int($0) } }
        func each(_ times: Int) throws -> Bool {
            try zip(deliveries(), counts).allSatisfy { $0 >= times * $1 }
        }
        try host.wait(until: "each has its first value") { try each(1) }
        for number in 0..<Rounds.of(1_000) { try host.ip(Self.container(number)) }
        try host.ip("route del default")
        try host.wait(until: "each has the change") { try each(2) }
        // What was on its way to any of them is there now.
        try host.ip("route add default via 192.0.2.1")
        try host.wait(until: "each has the change back") { try each(3) }
        let all = try deliveries()
        #expect(all == counts.map { 3 * $0 })
    }
}
