// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

/// What becomes of MPTCP connections, held against the data that the server acknowledges.
struct MultipathConnectionTests {
    private static func cable(_ uplink: String) -> ConnectedHost.Change {
        ConnectedHost.Change(
            name: "cable of \(uplink)", apply: ["far: link set \(uplink)-far down"],
            undo: ["far: link set \(uplink)-far up"], links: [uplink])
    }

    /// A host with a connection that has a subflow over each uplink, the first of which is that of the default route.
    private func connectedHost(to remote: String = "198.51.100.1") throws -> (
        net: ConnectedHost, number: String
    ) {
        let net = try ConnectedHost(uplinks: ["up0", "up1"], isMultipath: true)
        let number = try net.connect("mptcp", remote)
        // The path manager adds a subflow once the first one has carried data.
        try net.host.wait(until: "a subflow over each uplink") {
            try isReceived(number, net) && net.status(number).subflows.count == 2
        }
        return (net, number)
    }

    /// Whether the server acknowledges data of the connection.
    private func isReceived(_ number: String, _ net: ConnectedHost) throws -> Bool {
        try net.host.command(["exchange", number]).first == number
    }

    @Test(.needs(.veth), .needs(.mptcp), arguments: ["up0", "up1"])
    func `a connection whose data goes on over the other path is viable, with a subflow that waits`(
        _ uplink: String
    ) throws {
        let (net, number) = try connectedHost()
        #expect(try net.status(number).subflows == ["viable", "viable"])
        try net.apply(Self.cable(uplink))
        let status = try net.status(number)
        #expect(status.state == "viable", "\(status.text)")
        #expect(Set(status.subflows) == ["viable", "waiting"])
        #expect(try isReceived(number, net))
        // It has stayed so.
        #expect(try net.status(number).state == "viable")
    }

    /// Its subflows are bound to their interfaces, which sock_diag lists among IPv6 sockets.
    @Test(.needs(.veth), .needs(.mptcp)) func `an IPv6 socket with IPv4 ends is as an IPv4 socket is`() throws
    {
        let (net, number) = try connectedHost(to: "::ffff:198.51.100.1")
        #expect(try net.status(number).subflows == ["viable", "viable"])
        try net.apply(Self.cable("up0"))
        let subflows = try net.status(number).subflows
        #expect(Set(subflows) == ["viable", "waiting"])
        #expect(try isReceived(number, net))
    }

    @Test(.needs(.veth), .needs(.mptcp))
    func `a connection waits while both paths are cut, and is viable when one is back`() throws {
        let (net, number) = try connectedHost()
        for uplink in net.uplinks { try net.apply(Self.cable(uplink)) }
        let status = try net.status(number)
        #expect(status.state == "waiting")
        #expect(status.reason == "noCarrier")
        #expect(status.subflows == ["waiting", "waiting"])
        #expect(try net.host.command(["exchange"]).first != number)
        try net.undo(Self.cable("up1"))
        #expect(try net.status(number).state == "viable")
        #expect(try isReceived(number, net))
    }

    @Test(.needs(.veth), .needs(.mptcp))
    func `a connection goes on without the address that it began with, and is lost with the last one`() throws
    {
        let (net, number) = try connectedHost()
        try net.host.ip("addr del 192.0.2.2/24 dev up0")
        let status = try net.status(number)
        #expect(status.state == "viable", "\(status.text)")
        #expect(Set(status.subflows) == ["lost", "viable"])
        #expect(try isReceived(number, net))
        try net.host.ip("addr del 192.0.3.2/24 dev up1")
        #expect(try net.status(number).state == "lost")
        #expect(try net.host.command(["exchange"]).first != number)
    }

    @Test(.needs(.veth), .needs(.mptcp))
    func `a connection to a server without MPTCP is a TCP connection`() throws {
        let net = try ConnectedHost(uplinks: ["up0"])
        let number = try net.connect("mptcp", "198.51.100.1")
        #expect(try isReceived(number, net))
        let status = try net.status(number)
        #expect(status.state == "viable")
        #expect(status.subflows.isEmpty)
        try net.apply(Self.cable("up0"))
        #expect(try net.status(number).state == "waiting")
    }
}
