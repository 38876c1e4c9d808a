// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import NetlinkReachability
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkRecording

@Suite(.needsNetwork)
struct EventOriginTests {
    private typealias Event = Recording.Event

    /// A change, and whether the kernel says who asked for it.
    private struct Change: Sendable {
        /// The commands that make the change and take it back.
        let forth: String
        let back: String
        /// What an event of the changed thing itself contains.
        let words: String
        let hasPort: Bool
    }

    private static let changes = [
        Change(
            forth: "ip addr add 203.0.113.7/24 dev v0", back: "ip addr del 203.0.113.7/24 dev v0",
            words: "the address 203.0.113.7/24", hasPort: true),
        Change(
            forth: "ip route add 10.1.0.0/16 via 192.0.2.1", back: "ip route del 10.1.0.0/16",
            words: "the route to 10.1.0.0/16", hasPort: true),
        Change(
            forth: "ip route add prohibit 10.2.0.0/16 metric 7", back: "ip route flush 10.2.0.0/16",
            words: "route to 10.2.0.0/16", hasPort: true),
        Change(
            forth: "ip -6 route add 2001:db8:7::/48 via 2001:db8::1",
            back: "ip -6 route del 2001:db8:7::/48", words: "the route to 2001:db8:7::/48", hasPort: true),
        Change(
            forth: "ip rule add from 10.1.0.0/16 lookup 100 pref 77", back: "ip rule del pref 77",
            words: "the rule 77", hasPort: true),
        Change(
            forth: "ip -6 rule add to 2001:db8:7::/48 lookup 100 pref 78", back: "ip -6 rule del pref 78",
            words: "the IPv6 rule 78", hasPort: true),
        Change(
            forth: "ip nexthop add id 9 via 192.0.2.5 dev v0", back: "ip nexthop del id 9",
            words: "the nexthop object 9", hasPort: true),
        // The kernel's notifications of IPv6 addresses and of interfaces have no port.
        Change(
            forth: "ip -6 addr add 2001:db8:8::7/64 dev v0 nodad",
            back: "ip -6 addr del 2001:db8:8::7/64 dev v0",
            words: "the address 2001:db8:8::7/64", hasPort: false),
        Change(forth: "ip link set v2 up", back: "ip link set v2 down", words: "v2", hasPort: false),
        Change(
            forth: "ip link add d0 type veth peer name d1", back: "ip link del d0", words: "d0",
            hasPort: false),
    ]

    /// What only programs of net-tools ask for, by ioctl(2).
    private static let ioctlChanges = [
        Change(
            forth: "ifconfig v0:1 198.51.100.9 netmask 255.255.255.0", back: "ifconfig v0:1 down",
            words: "the address 198.51.100.9/24", hasPort: false),
        Change(
            forth: "route add -net 10.3.0.0/16 gw 192.0.2.1", back: "route del -net 10.3.0.0/16",
            words: "the route to 10.3.0.0/16", hasPort: false),
    ]

    private static func prepare() throws {
        try ShellCommand.check(
            """
            ip link set lo up; ip link add v0 type veth peer name v1
            ip link add v2 type veth peer name v3; ip link set v1 up; ip link set v0 up; ip link set v3 up
            ip addr add 192.0.2.2/24 dev v0; ip addr add 2001:db8::2/64 dev v0 nodad
            """)
        try ShellCommand.check(settleScript)
    }

    /// Reads the notifications since the last call, and the origin of each.
    private static func events(
        of recorder: inout Recorder,
        _ network: inout NetworkSnapshot
    ) throws -> [Event] {
        var events: [Event] = []
        while try recorder.readEvents({ message in
            if let event = Event(message, before: network, at: Recording.Time(microsecondsSince1970: 0)) {
                events.append(event)
            }
            if let change = message.change { network.apply(change) }
        }) != .empty {}
        return events
    }

    /// Runs a command in a process of its own; returns its process identifier.
    private static func run(_ command: String) throws -> UInt32 {
        let (status, output) = ShellCommand.run("echo $$; exec \(command)")
        try #require(status == 0, "\(command): \(output)")
        return try #require(output.split(separator: "\n").first.flatMap { UInt32($0) })
    }

    @Test func `the port is that of the process that asked over netlink, and never another one`()
        throws
    {
        try LiveNetwork().run {
            let hasTools = ShellCommand.has("ifconfig") && ShellCommand.has("route")
            if !hasTools {
                print("not tried: changes by ioctl(2), which need ifconfig and route of net-tools")
            }
            let changes = Self.changes + (hasTools ? Self.ioctlChanges : [])
            var recorder = try Recorder()
            var network = NetworkSnapshot()
            try Self.prepare()
            _ = try Self.events(of: &recorder, &network)
            var generator = SeededGenerator(seed: 4_300)
            var made: [Bool] = Array(repeating: false, count: changes.count)
            for round in 0..<Rounds.of(600) {
                let place = Int.random(in: changes.indices, using: &generator)
                let change = changes[place]
                let process = try Self.run(made[place] ? change.back : change.forth)
                made[place].toggle()
                var events = try Self.events(of: &recorder, &network)
                func isOwn(_ event: Event) -> Bool { strstr(event.description, change.words) != nil }
                // The kernel notifies of an IPv6 address from a thread of its own, after the request has returned.
                for _ in 0..<10_000 where !events.contains(where: isOwn) {
                    usleep(1_000)
                    events += try Self.events(of: &recorder, &network)
                }
                let own = events.filter(isOwn)
                #expect(!own.isEmpty, "round \(round): \(change.words): \(events.map(\.description))")
                for event in own where change.hasPort {
                    #expect(
                        event.origin == .request(port: Event.NetlinkPort(process), by: nil),
                        "round \(round), process \(process): \(event)")
                }
                for event in events {
                    guard let port = event.origin.port else { continue }
                    #expect(
                        change.hasPort && port.processIdentifier == Int32(process),
                        "round \(round), process \(process): \(event)")
                }
            }
        }
    }

    @Test func `what the kernel removes with an interface names the interface`() throws {
        try LiveNetwork().run {
            var recorder = try Recorder()
            var network = NetworkSnapshot()
            try Self.prepare()
            _ = try Self.events(of: &recorder, &network)
            try ShellCommand.check("ip link set v0 down")
            let events = try Self.events(of: &recorder, &network)
            let removed = events.filter(\.isRemoval)
            #expect(events.contains { $0.subject == .interface("v0", .wentDown) && $0.origin == .unknown })
            #expect(!removed.isEmpty)
            for event in removed { #expect(event.origin == .interfaceDown("v0"), "\(event)") }
        }
    }

    @Test func `an address that expires differs from one that a program removes`() throws {
        try LiveNetwork().run {
            var recorder = try Recorder()
            var network = NetworkSnapshot()
            try Self.prepare()
            try ShellCommand.check("ip addr add 198.51.100.8/24 dev v0 valid_lft 600 preferred_lft 600")
            _ = try Self.events(of: &recorder, &network)
            try ShellCommand.check("ip addr add 203.0.113.7/24 dev v0 valid_lft 1 preferred_lft 1")
            let process = try Self.run("ip addr del 198.51.100.8/24 dev v0")
            var removed: [Event] = []
            // The kernel looks at lifetimes about once a second.
            for _ in 0..<2_400 where !removed.contains(where: { $0.description.contains("203.0.113.7/24") }) {
                removed += try Self.events(of: &recorder, &network).filter { event in
                    if case .address = event.subject { event.isRemoval } else { false }
                }
                try ShellCommand.check("sleep 0.05")
            }
            #expect(
                removed.map(\.origin) == [.request(port: Event.NetlinkPort(process), by: nil), .lifetimeEnd],
                "\(removed)")
        }
    }

    @Test func `a route that expires differs from one that a program removes`() throws {
        try LiveNetwork().run {
            // Without it the kernel looks at lifetimes every 30 s.
            let flush = "/proc/sys/net/ipv6/route/flush"
            guard ShellCommand.run("test -w \(flush)").status == 0 else {
                print("not tried: the end of a route's lifetime, which needs \(flush)")
                return
            }
            var recorder = try Recorder()
            var network = NetworkSnapshot()
            try Self.prepare()
            try ShellCommand.check(
                """
                ip -6 route add 2001:db8:5::/64 dev v0 expires 1
                ip -6 route add 2001:db8:6::/64 dev v0 expires 600
                """)
            _ = try Self.events(of: &recorder, &network)
            try ShellCommand.check("sleep 1.5; echo 1 >\(flush)")
            let process = try Self.run("ip -6 route del 2001:db8:6::/64")
            // In 1/100 s.
            network.clock += 150
            let removed = try Self.events(of: &recorder, &network).filter(\.isRemoval)
            #expect(
                removed.map(\.origin) == [.lifetimeEnd, .request(port: Event.NetlinkPort(process), by: nil)],
                "\(removed)")
        }
    }

    @Test(
        arguments: [
            (1_262, 1_262, "port 1262"), (398_475_992, 17_112, "port 398475992, of process 17112"),
            (4_194_304, nil, "port 4194304, of no process's number"),
            (UInt32(bitPattern: -4_097), nil, "port 4294963199, of no process's number"),
        ] as [(UInt32, Int32?, String)])
    func `a port stands for a process where its number is one`(number: UInt32, process: Int32?, words: String)
    {
        let port = Event.NetlinkPort(number)
        #expect(port.processIdentifier == process)
        #expect(port.description == words)
    }
}
