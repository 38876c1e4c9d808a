// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

/// `netflags trace`: who gets a packet, the end of the way, and wrong usage.
struct TraceCommandTests {
    /// A host of a test: the addresses of its interfaces, behind the word `tunnel` for one, and lines of `ip`.
    private typealias Host = (name: String, wires: [[String]], steps: [String])

    /// Traces over hosts that are not linked: the recordings alone decide.
    private func trace(_ hosts: [Host], _ arguments: String...) throws -> NetflagsProcess.Result {
        let folder = try ScratchFolder()
        for host in hosts {
            let network = try TestNamespace()
            try network.set("net/ipv4/ip_forward", "1")
            for group in ["all", "default"] { try network.set("net/ipv4/conf/\(group)/rp_filter", "0") }
            for (number, addresses) in host.wires.enumerated() {
                let isTunnel = addresses.first == "tunnel"
                if isTunnel { try network.tunnel("w\(number)") } else { try network.wire("w\(number)") }
                for address in addresses.dropFirst(isTunnel ? 1 : 0) {
                    try network.address("w\(number)", address)
                }
            }
            try network.ip(host.steps)
            try folder.record(network, as: host.name)
        }
        return try NetflagsProcess.run(["trace", "--replay-hosts", folder.path] + arguments)
    }

    private static let sender: Host = ("a", [["192.0.2.1/24"]], ["route add default via 192.0.2.254"])
    private static let router: Host = ("r", [["192.0.2.254/24"], ["198.51.100.254/24"]], [])
    private static let receiver: Host = (
        "z", [["198.51.100.1/24"]], ["route add default via 198.51.100.254"]
    )

    private static let looping: Host = (
        "r", [["192.0.2.254/24"], ["198.51.100.254/24"]], ["route add 198.51.100.1 via 198.51.100.7"]
    )

    @Test(.needs(.veth)) func `a packet and its answer are followed over a router`() throws {
        let result = try trace([Self.sender, Self.router, Self.receiver], "198.51.100.1", "--from", "a")
        #expect(
            result.output == """
                there  a  -   w0  192.0.2.254
                there  r  w0  w1  -
                there  z  w0  -   -
                back   z  -   w0  198.51.100.254
                back   r  w1  w0  -
                back   a  w0  -   -
                delivered there and back

                """, "\(result)")
        #expect(result.status == 0)
    }

    @Test(.needs(.veth)) func `JSON has the end and the hops, also of a way that ends early`() throws {
        var receiver = Self.receiver
        receiver.steps = []
        let result = try trace(
            [Self.sender, Self.router, receiver], "198.51.100.1", "--source", "192.0.2.1", "--json")
        #expect(result.status == 1)
        let json = try #require(result.lines.first.flatMap { JSONValue($0) })
        #expect(
            json.keys == [
                "target", "sourceAddress", "outcome", "direction", "host", "code", "reason", "icmp", "error",
                "hops",
            ])
        #expect(json["outcome"]?.string == "dropped" && json["direction"]?.string == "back")
        #expect(json["host"]?.string == "z" && json["code"]?.string == "noRoute")
    }

    /// Hosts, and the line that a trace from `a` to 198.51.100.1 ends with.
    @Test(
        .needs(.veth),
        arguments: [
            (
                [sender, receiver],
                "unrecorded on the way there at a: no recording has 192.0.2.254, the next hop on w0"
            ),
            (
                [sender, router, ("s", [["192.0.2.254/24"]], []), receiver],
                "undecided on the way there at a: r (w0) and s (w0) can be 192.0.2.254 on the link of w0"
            ),
            // An anycast address of another network.
            (
                [sender, router, ("s", [["192.0.2.254/32"]], []), receiver], "delivered there and back"
            ),
            (
                [
                    ("a", [["192.0.2.1/24"]], ["route add default dev w0"]), router, receiver,
                ],
                "undecided on the way there at a: z has 198.51.100.1, but no address on the link of w0"
            ),
            (
                [
                    sender, router, receiver, ("b", [["192.0.2.1/24"]], []),
                ],
                "undecided on the way back at r: a (w0) and b (w0) can be 192.0.2.1 on the link of w0"
            ),
            (
                [
                    sender, looping,
                    ("s", [["198.51.100.7/24"]], ["route add 198.51.100.1 via 198.51.100.254"]), receiver,
                ],
                "dropped on the way there at s: the packet comes in by w0 again: a loop"
            ),
            (
                [
                    (
                        "a", [["192.0.2.1/24"]],
                        ["route add default nexthop via 192.0.2.254 nexthop via 192.0.2.253"]
                    ), router, receiver,
                ],
                "undecided on the way there at a: the kernel chooses one of several nexthops by a hash of the packet"
            ),
        ] as [([(String, [[String]], [String])], String)]
    )
    func `the last line says the end`(hosts: [(String, [[String]], [String])], line: String) throws {
        let result = try trace(
            hosts.map { (name: $0, wires: $1, steps: $2) }, "198.51.100.1", "--from", "a.rtnl")
        #expect(result.lines.last.map(String.init) == line, "\(result)")
        #expect(result.status == (line.hasPrefix("un") ? 2 : line.hasPrefix("dropped") ? 1 : 0))
    }

    @Test(.needs(.veth, .tun)) func `the other end of a tunnel gets a packet that has no gateway`()
        throws
    {
        let result = try trace(
            [
                ("a", [["tunnel", "10.8.0.1/30"]], ["route add default dev w0"]),
                ("r", [["tunnel", "10.8.0.2/30"], ["198.51.100.254/24"]], []), Self.receiver,
            ], "198.51.100.1", "--from", "a")
        #expect(
            result.lines.prefix(3) == ["there  a  -   w0  -", "there  r  w0  w1  -", "there  z  w0  -   -"])
        #expect(result.lines.last == "delivered there and back", "\(result)")
    }

    @Test(.needs(.veth)) func `without the host that the packet starts from the hosts are named`() throws {
        let result = try trace([Self.sender, Self.receiver], "198.51.100.1")
        #expect(result.status == 64)
        #expect(result.errors.contains("give one of these to --from: a, z"), "\(result.errors)")
        let unknown = try trace([Self.sender, Self.receiver], "198.51.100.1", "--from", "x")
        #expect(unknown.status == 64)
        #expect(unknown.errors.contains("give one of these to --from: a, z"), "\(unknown.errors)")
    }

    @Test
    func `a recording that cannot be read is named, and the only other host is where the packet starts`()
        throws
    {
        let folder = try ScratchFolder()
        try folder.write("broken", as: "b.rtnl")
        let alone = try NetflagsProcess.run("trace", "--replay-hosts", folder.path, "192.0.2.1")
        #expect(alone.status == 2 && alone.errors.contains("b.rtnl: "), "\(alone)")
        let result = try NetflagsProcess.run(
            "trace", "--replay-hosts", folder.path, "--replay", Night.path, "127.0.0.1")
        #expect(result.status == 0 && result.output.contains("delivered: "), "\(result)")
    }

    @Test(
        arguments: [
            (["192.0.2.1"], "--replay-hosts"),
            (["--replay", Night.path, "example.com"], "is not an address"),
            (["--replay", Night.path, "default"], "is not an address"),
            (["--replay", "-", "--replay", "-", "192.0.2.1"], "stdin can be read only once"),
        ])
    func `wrong usage is explained`(arguments: [String], text: String) throws {
        let result = try NetflagsProcess.run(["trace"] + arguments)
        #expect(result.status == 64)
        #expect(result.errors.contains(text), "\(result.errors)")
    }
}
