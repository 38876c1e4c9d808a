// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import Testing

/// `netflags sockets` on a host with an MPTCP connection over two uplinks.
@Suite(.needs(.veth, .mptcpList))
struct MultipathSocketsTests {
    private let host: TestNamespace
    private let server: TestNamespace

    init() throws {
        host = try TestNamespace()
        server = try host.makePeer()
        for (number, name) in ["w0", "w1"].enumerated() {
            try host.wire(name, "192.0.\(number + 2).2/24", to: server)
            try server.ip("addr add 192.0.\(number + 2).1/24 dev \(name)-far")
        }
        try server.ip("addr add 198.51.100.1/32 dev lo")
        try host.ip(
            "route add default via 192.0.2.1 metric 100", "route add default via 192.0.3.1 metric 200",
            "mptcp endpoint add 192.0.3.2 dev w1 subflow")
        for side in [host, server] { try side.ip("mptcp limits set subflow 4 add_addr_accepted 4") }
        try server.command(["serve", "mptcp"])
        _ = try host.command(["connect", "mptcp", "198.51.100.1"])
        // The path manager adds a subflow once the first one has carried data.
        try host.wait(until: "a subflow over each uplink") {
            _ = try host.command(["exchange", "1"])
            return try host.sockets().rows.first?["subflows"]?.elements.count == 2
        }
    }

    private func subflows(_ row: JSONValue?) -> [String?] {
        row?["subflows"]?.elements.map { $0["state"]?.string } ?? []
    }

    @Test func `a connection is listed once, with the ends, the interface and the state of each subflow`()
        throws
    {
        let found = try host.sockets()
        #expect(found.rows.count == 1)
        let row = try #require(found.rows.first)
        #expect((row["protocol"]?.string, row["local"]?.string) == ("mptcp", "192.0.2.2"))
        #expect(row["process"]?.string == "NamespaceProbe")
        let subflows = try #require(row["subflows"]).elements
        #expect(subflows.map { $0["local"]?.string } == ["192.0.2.2", "192.0.3.2"])
        #expect(subflows.map { $0["interface"]?.string } == ["w0", "w1"])
        let text = try host.run([NetflagsProcess.path, "sockets"]).output.split(separator: "\n")
        #expect(text.map { $0.split(separator: " ")[1] } == ["mptcp", "subflow", "subflow"])
    }

    /// They were rows of TCP.
    @Test func `the subflows of a connection that its process has closed are left out with it`() throws {
        // The end of the connection is not acknowledged.
        for name in ["w0", "w1"] { try server.ip("link set \(name)-far down") }
        try host.command(["exchange"])
        try host.command(["disconnect", "1"])
        let tcp = try host.run(["ss", "-tnH"]).output.split(separator: "\n")
        #expect(tcp.count == 2)
        #expect(try host.sockets().rows.isEmpty)
    }

    @Test func `the state and the exit status are those of the connection and not of a subflow`() throws {
        try host.ip("addr del 192.0.2.2/24 dev w0")
        var found = try host.sockets()
        #expect(found.rows.first?["state"]?.string == "viable")
        #expect(subflows(found.rows.first) == ["lost", "viable"])
        #expect(found.status == 0)
        found = try host.sockets("--state", "lost")
        #expect((found.rows.count, found.status) == (0, 0))
        try host.ip("addr del 192.0.3.2/24 dev w1")
        found = try host.sockets("--state", "lost")
        #expect((found.rows.count, found.status) == (1, 1))
    }

    @Test func `a connection to a server without MPTCP is listed as a TCP connection`() throws {
        let plain = try host.makePeer()
        try host.wire("w2", "192.0.9.2/24", to: plain)
        try plain.ip("addr add 192.0.9.1/24 dev w2-far")
        try plain.command(["serve"])
        _ = try host.command(["connect", "mptcp", "192.0.9.1"])
        let row = try #require(try host.sockets().rows.first { $0["remote"]?.string == "192.0.9.1" })
        #expect(row["protocol"]?.string == "tcp")
        #expect(row["subflows"] == nil)
    }

    @Test func `with --watch there is a line when a subflow or the connection changes its state`() throws {
        let watch = try RunningNetflags(["sockets", "--watch", "--json"], in: host)
        var row = try watch.row()
        #expect(row?["state"]?.string == "viable")
        try host.ip("addr del 192.0.2.2/24 dev w0")
        while subflows(row) != ["lost", "viable"], row != nil { row = try watch.row() }
        #expect(row?["state"]?.string == "viable")
        try host.ip("addr del 192.0.3.2/24 dev w1")
        while subflows(row) != ["lost", "lost"], row != nil { row = try watch.row() }
        #expect(row?["state"]?.string == "lost")
        _ = try watch.end(signal: SIGTERM)
    }
}
