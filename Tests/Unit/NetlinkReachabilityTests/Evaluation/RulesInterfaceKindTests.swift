// SPDX-License-Identifier: Apache-2.0

import NetlinkRecording
import RoutingModel
import Testing

@testable import NetlinkReachability

/// Which flags and type each kind of interface gives, as a Debian 6.1 kernel describes it.
struct RulesInterfaceKindTests {
    /// An interface as rtnetlink shows it, and what has to come out.
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var hardware: UInt16
        var kind: String
        var bits: UInt32
        var state: OperationalState = .unknown
        var isModem = false
        var isWireless = false
        var flags: ReachabilityFlags
        var type: NetworkInterface.InterfaceType

        var testDescription: String { name }

        var facts: InterfaceFacts {
            InterfaceFacts(
                link: Link(
                    index: 7,
                    name: name,
                    hardwareType: HardwareType(rawValue: hardware),
                    flags: LinkFlags(rawValue: bits),
                    operationalState: state,
                    kind: kind
                ),
                isCellularDevice: isModem,
                wirelessIndexes: isWireless ? [7] : []
            )
        }
    }

    private static let up: UInt32 = 0x1_0041
    private static let pointToPoint: UInt32 = 0x1_00d1
    private static let noARP: UInt32 = 0x1_00c1
    private static let transient: ReachabilityFlags = [.reachable, .transientConnection]
    private static let cellular: ReachabilityFlags = [.reachable, .transientConnection, .isWWAN]

    private static func wire(_ name: String, _ kind: String = "", _ bits: UInt32 = 0x1_1043) -> Row {
        Row(name: name, hardware: 1, kind: kind, bits: bits, flags: direct, type: .wiredEthernet)
    }

    private static func tunnel(_ name: String, _ hardware: UInt16, _ kind: String, _ bits: UInt32 = 0x1_00d1)
        -> Row
    {
        Row(name: name, hardware: hardware, kind: kind, bits: bits, flags: transient, type: .other)
    }

    static let rows: [Row] = [
        wire("e1000"), wire("veth0", "veth"),
        Row(name: "dummy0", hardware: 1, kind: "dummy", bits: 0x1_00c3, flags: direct, type: .other),
        Row(name: "ifb0", hardware: 1, kind: "ifb", bits: 0x1_00c3, flags: direct, type: .other),
        wire("bond0", "bond", 0x1_1443),
        wire("team0", "team"), wire("vlan5", "vlan"), wire("mv0", "macvlan"), wire("iv0", "ipvlan", 0x1_10c3),
        wire("br0", "bridge"), wire("lan0", "dsa"), wire("vrf9", "vrf", 0x1_04c1), wire("tap9", "tun"),
        wire("gretap9", "gretap"), wire("vx0", "vxlan"), wire("wlan0-unlisted"),
        tunnel("ppp0", 512, "ppp"), tunnel("tun9", 65534, "tun"), tunnel("wg0", 65534, "wireguard"),
        tunnel("xfrm0", 65534, "xfrm", noARP), tunnel("gre9", 778, "gre"), tunnel("gre0", 778, "gre", noARP),
        tunnel("ip6gre9", 823, "ip6gre"), tunnel("ipip9", 768, "ipip"), tunnel("tunl0", 768, "ipip", noARP),
        tunnel("sit9", 776, "sit"), tunnel("ip6tnl9", 769, "ip6tnl"), tunnel("ip6tnl0", 769, "ip6tnl", noARP),
        tunnel("vti9", 768, "vti"), tunnel("vti69", 769, "vti6"), tunnel("sl0", 256, "", noARP),
        tunnel("rawip0", 519, "", noARP), tunnel("unknown-p2p", 801, "", pointToPoint),
        // Ethernet framing in a tunnel that carries one peer's frames.
        Row(
            name: "l2tpeth0", hardware: 1, kind: "l2tp", bits: 0x1_1043, flags: transient,
            type: .wiredEthernet),
        Row(
            name: "wwan0", hardware: 65534, kind: "wwan", bits: pointToPoint, flags: cellular, type: .cellular
        ),
        Row(name: "rmnet0", hardware: 519, kind: "rmnet", bits: noARP, flags: cellular, type: .cellular),
        Row(
            name: "usb-modem",
            hardware: 1,
            kind: "",
            bits: 0x1_1043,
            isModem: true,
            flags: [.reachable, .transientConnection, .isWWAN, .isDirect],
            type: .cellular
        ),
        Row(
            name: "wlan0",
            hardware: 1,
            kind: "",
            bits: 0x1_1043,
            state: .up,
            isWireless: true,
            flags: direct,
            type: .wifi
        ),
        Row(
            name: "mon0", hardware: 803, kind: "", bits: 0x1_1043, isWireless: true, flags: direct,
            type: .wifi),
        Row(name: "wpan0", hardware: 804, kind: "", bits: 0x1_00c3, flags: direct, type: .other),
        Row(name: "lo", hardware: 772, kind: "", bits: 0x1_0049, flags: [], type: .loopback),
    ]

    @Test(arguments: rows) func `each kind gives its flags on its link`(row: Row) {
        #expect(judge(.via(7), row.facts).flags == row.flags)
    }

    @Test(arguments: rows) func `each kind gives its flags through a gateway, direct left out`(row: Row) {
        #expect(judge(.via(7, gateway: gateway), row.facts).flags == row.flags.subtracting(.isDirect))
    }

    @Test(arguments: rows) func `each kind has its type`(row: Row) {
        #expect(NetworkInterface(row.facts) == NetworkInterface(index: 7, name: row.name, type: row.type))
    }

    @Test(arguments: rows) func `every kind that is down gives nothing`(row: Row) {
        #expect(judge(.via(7), row.facts.with { $0.flags.remove(.up) }).flags.isEmpty)
        #expect(judge(.via(7), row.facts.with { $0.flags.remove(.lowerUp) }).flags.isEmpty)
    }

    /// Nothing in rtnetlink shows the ends of these, so what carries them can be inferred alone.
    @Test(arguments: ["wireguard", "amneziawg", "tun", "ovpn", "vti", "vti6"])
    func `a tunnel whose ends the kernel does not show is one by its kind`(kind: String) {
        let facts = InterfaceFacts(link: Link(index: 7, name: "x", kind: kind))
        #expect(facts.traits.contains(.isTunnel) && facts.link.ends == nil)
    }

    @Test(arguments: ["ppp", "l2tp", "wwan", "bridge", "vlan", "veth", "dummy", "", "unheard-of"])
    func `an interface of another kind and without ends is no tunnel`(kind: String) {
        #expect(!InterfaceFacts(link: Link(index: 7, name: "x", kind: kind)).traits.contains(.isTunnel))
    }

    // MARK: Stacked interfaces

    static let stacked = ["vlan", "macvlan", "macvtap", "ipvlan", "ipvtap"]

    @Test(arguments: stacked) func `stacked interfaces take the type of what they stand on`(kind: String) {
        var facts = InterfaceFacts(
            link: Link(index: 7, name: "up", kind: kind, lower: 2), wirelessIndexes: [2])
        facts = facts.with(lowers: [.ethernet(2, "wlan0")])
        #expect(NetworkInterface.InterfaceType(facts) == .wifi)
        facts = facts.with(wirelessIndexes: [])
        #expect(NetworkInterface.InterfaceType(facts) == .wiredEthernet)
        facts = facts.with(lowers: [Link(index: 3, name: "wwan0", kind: "wwan")])
        #expect(NetworkInterface.InterfaceType(facts) == .cellular)
        facts = facts.with(lowers: [])
        #expect(NetworkInterface.InterfaceType(facts) == .wiredEthernet)
    }

    static let masters = ["bridge", "bond", "team"]

    /// The facts about an interface with two Ethernet ports, of which nl80211 lists some.
    private func master(_ kind: String, wireless: Set<UInt32>) throws -> InterfaceFacts {
        var snapshot = NetworkSnapshot()
        for link in [
            Link(index: 7, name: "up", kind: kind), Link(index: 2, name: "a", portKind: kind, master: 7),
            Link(index: 3, name: "b", portKind: kind, master: 7), Link(index: 4, name: "other"),
        ] { snapshot.apply(.link(LinkReport(link))) }
        let routing = SnapshotRouting(snapshot, wirelessIndexes: wireless)
        return try #require(try routing.facts(aboutInterface: 7, detail: .reason))
    }

    /// The ports of a team were listed, and then ignored.
    @Test(arguments: masters) func `ports of one type give their type`(kind: String) throws {
        #expect(NetworkInterface.InterfaceType(try master(kind, wireless: [2, 3])) == .wifi)
        #expect(NetworkInterface.InterfaceType(try master(kind, wireless: [])) == .wiredEthernet)
    }

    @Test(arguments: masters) func `ports of several types are wired`(kind: String) throws {
        #expect(NetworkInterface.InterfaceType(try master(kind, wireless: [2])) == .wiredEthernet)
    }

    @Test(arguments: ["veth", "vxlan", "vrf", "dsa", ""]) func `other kinds keep their own type`(
        kind: String
    ) {
        var facts = InterfaceFacts(
            link: Link(index: 7, name: "x", kind: kind, lower: 2), wirelessIndexes: [2])
        facts = facts.with(lowers: [.ethernet(2, "wlan0")])
        #expect(NetworkInterface.InterfaceType(facts) == .wiredEthernet)
    }
}
