// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing

/// Packets that arrive in a simulated network, by the settings that a test changes in the words of sysctl(8).
struct SimulatedArrivalTests {
    private let network = SimulatedNetwork()

    init() throws {
        try network.change { host in
            for (name, subnet) in [("eth0", "192.0.2"), ("eth1", "198.51.100")] {
                try host.addInterface(name)
                try host.apply("address add \(subnet).2/24 dev \(name)")
            }
            try host.addRoute(.default(via: "192.0.2.1"))
        }
    }

    /// What becomes of a packet from 203.0.113.9.
    private func arrival(on interface: InterfaceReference, to destination: IPAddress) throws -> PacketArrival
    {
        let sender = IPAddress(203, 0, 113, 9)
        return try network.source.blockingValue(of: .arriving(on: interface, from: sender, to: destination))
    }

    @Test func `the reverse path filter of an interface, or of all, drops what comes in by another uplink`()
        throws
    {
        let own = IPAddress(198, 51, 100, 2)
        #expect(try arrival(on: "eth1", to: own).outcome == .delivered)
        try network.change { try $0.apply("sysctl -w net.ipv4.conf.eth1.rp_filter=1") }
        #expect(try arrival(on: "eth1", to: own).reason.code == .reversePathFilter)
        #expect(try arrival(on: "eth0", to: own).outcome == .delivered)
        // Loose wins over strict in the maximum of both.
        try network.change { try $0.apply("sysctl net/ipv4/conf/all/rp_filter=2") }
        #expect(try arrival(on: "eth1", to: own).outcome == .delivered)
    }

    @Test func `a report says that answers are dropped`() throws {
        var options = ReachabilityOptions()
        options.interface = "eth1"
        let target = NetworkReachability(
            target: .address(IPAddress(198, 51, 100, 9)), options: options, source: network.source)
        try network.change { try $0.apply("route add 198.51.100.9 via 192.0.2.1") }
        #expect(try target.blockingReport().returns?.isDelivered == true)
        try network.change { try $0.apply("sysctl net.ipv4.conf.eth1.rp_filter=1") }
        #expect(try target.blockingReport().reason.code == .answerDropped)
    }

    @Test func `forwarding of all is that of each interface, which can have its own`() throws {
        let other = IPAddress(192, 0, 2, 77)
        #expect(try arrival(on: "eth1", to: other).reason.code == .notForwarding)
        try network.change { try $0.apply("sysctl -w net.ipv4.ip_forward=1") }
        #expect(try arrival(on: "eth1", to: other).outcome == .forwarded)
        try network.change { try $0.apply("sysctl net.ipv4.conf.eth1.forwarding=0") }
        #expect(try arrival(on: "eth1", to: other).reason.code == .notForwarding)
        #expect(try arrival(on: "eth0", to: IPAddress(198, 51, 100, 77)).outcome == .forwarded)
    }

    @Test func `IPv6 forwarding is that of all interfaces, or forced on the one of arrival`() throws {
        let (sender, target): (IPAddress, IPAddress) = ("2001:db8:1::9", "2001:db8::77")
        try network.change { host in
            try host.apply("address add 2001:db8::2/64 dev eth0 nodad")
            try host.apply("address add 2001:db8:1::2/64 dev eth1 nodad")
        }
        func outcome() throws -> ReachabilityReason.Code? {
            let arrival = try network.source.blockingValue(
                of: .arriving(on: "eth1", from: sender, to: target))
            return arrival.outcome == .forwarded ? nil : arrival.reason.code
        }
        #expect(try outcome() == .notForwarding)
        // The interface's own setting decides nothing.
        try network.change { try $0.apply("sysctl net.ipv6.conf.eth1.forwarding=1") }
        #expect(try outcome() == .notForwarding)
        try network.change { try $0.apply("sysctl net.ipv6.conf.eth1.force_forwarding=1") }
        #expect(try outcome() == nil)
        try network.change {
            try $0.apply("sysctl net.ipv6.conf.eth1.force_forwarding=0 net.ipv6.conf.all.forwarding=1")
        }
        #expect(try outcome() == nil)
        try network.change { try $0.apply("sysctl net.ipv6.conf.eth1.disable_ipv6=1") }
        #expect(try outcome() == .ipv6Off)
    }

    @Test func `without IPv6 an interface has no address and no route of it, and gets them back with it`()
        throws
    {
        try network.change { host in
            try host.apply("address add 2001:db8::2/64 dev eth0 nodad")
            try host.apply("-6 route add default via 2001:db8::1")
        }
        func flags() throws -> String {
            try network.source.blockingValue(of: .flags(of: .address("2001:db8:9::9"))).letters
        }
        #expect(try flags() == "-R -------")
        try network.change { try $0.apply("sysctl net.ipv6.conf.eth0.disable_ipv6=1") }
        #expect(try flags() == "-- -------")
        for change in ["address add 2001:db8::3/64 dev eth0", "-6 route add default dev eth0"] {
            #expect(throws: SimulationError.self) { try network.change { try $0.apply(change) } }
        }
        try network.change { host in
            try host.apply("sysctl net.ipv6.conf.all.disable_ipv6=0")
            try host.apply("address add 2001:db8::2/64 dev eth0 nodad")
            try host.apply("-6 route add default via 2001:db8::1")
        }
        #expect(try flags() == "-R -------")
    }

    @Test(arguments: [
        ("sysctl =", "net.ipv4.ip_forward"), ("sysctl ''", "net.ipv4.ip_forward"),
        ("sysctl", "a setting is missing"), ("sysctl net.ipv4.tcp_ecn=1", "net.ipv4.ip_forward"),
        ("sysctl net.ipv4.conf.eth0.rp_filter=3", "rp_filter of net.ipv4.conf.INTERFACE"),
        ("sysctl net.ipv4.ip_forward", "with =VALUE"),
        ("sysctl net.ipv6.conf.eth0.rp_filter=1", "force_forwarding of net.ipv6.conf.INTERFACE"),
        ("sysctl net.ipv4.conf.eth0.disable_ipv6=1", "rp_filter of net.ipv4.conf.INTERFACE"),
        ("sysctl net.ipv6.conf.all.forwarding=2", "with =VALUE"),
        ("sysctl net.ipv4.conf.eth7.rp_filter=1", "there is no interface \"eth7\""),
    ])
    func `a setting that is not known is an error that says what is`(change: String, message: String) {
        #expect(throws: SimulationError.self) { try network.change { try $0.apply(change) } }
        do {
            try network.change { try $0.apply(change) }
        } catch {
            #expect("\(error)".contains(message), "\(error)")
        }
    }
}
