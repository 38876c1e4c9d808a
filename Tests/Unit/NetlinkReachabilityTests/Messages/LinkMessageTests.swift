// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim
import Glibc
import RoutingModel
import Testing

@testable import NetlinkReachability

struct LinkMessageTests {
    /// The name, kind and ARPHRD number of each recorded interface, as `ip -d link` shows them.
    private static let zoo: [(String, String, UInt16)] = [
        ("lo", "", 772), ("dummy0", "dummy", 1), ("gre0", "gre", 778), ("gretap0", "gretap", 1),
        ("erspan0", "erspan", 1), ("ip6tnl0", "ip6tnl", 769), ("ip6gre0", "ip6gre", 823),
        ("tunl0", "ipip", 768),
        ("sit0", "sit", 776), ("ip_vti0", "vti", 768), ("ip6_vti0", "vti6", 769), ("ifb0", "ifb", 1),
        ("bond0", "bond", 1), ("wpan0", "", 804), ("eth0", "veth", 1), ("br9", "bridge", 1),
        ("vl0", "vlan", 1),
        ("mv0", "macvlan", 1), ("mvt0", "macvtap", 1), ("iv0", "ipvlan", 1), ("ivt0", "ipvtap", 1),
        ("vx0", "vxlan", 1), ("gnv0", "geneve", 1), ("gre9", "gre", 778), ("gretap9", "gretap", 1),
        ("ip6gre9", "ip6gre", 823), ("ipip9", "ipip", 768), ("sit9", "sit", 776), ("ip6tnl9", "ip6tnl", 769),
        ("vti9", "vti", 768), ("vti69", "vti6", 769), ("nlm0", "nlmon", 824), ("vrf9", "vrf", 1),
        ("wg9", "wireguard", 65534), ("xf0", "xfrm", 65534), ("bnd9", "bond", 1), ("tm0", "team", 1),
        ("tun9", "tun", 65534), ("tap9", "tun", 1), ("bat0", "batadv", 1), ("vcan0", "vcan", 280),
        ("vxc0", "vxcan", 280), ("vsm0", "vsockmon", 826), ("vet0", "veth", 1),
    ]

    @Test(arguments: ["zoo-down", "zoo-up"]) func `every kind of interface is parsed, down and up`(
        name: String
    ) {
        let links = Dictionary(uniqueKeysWithValues: Fixture.named(name).links.map { ($0.name, $0) })
        for (name, kind, hardware) in Self.zoo {
            guard let link = links[name] else {
                Issue.record("\(name) is missing")
                continue
            }
            #expect(link.kind == kind, "\(name)")
            #expect(link.hardwareType.rawValue == hardware, "\(name)")
            #expect(link.carrier != nil, "\(name)")
        }
        #expect(links.count == 54)
    }

    @Test func `the states of all recorded interfaces are read`() {
        let links = Dictionary(uniqueKeysWithValues: Fixture.named("zoo-up").links.map { ($0.name, $0) })
        #expect(links["lo"]?.flags.contains([.up, .loopback, .lowerUp]) == true)
        #expect(links["lo"]?.operationalState == .unknown)
        #expect(links["eth0"]?.operationalState == .up)
        #expect(links["tun9"]?.operationalState == .down)
        #expect(links["tun9"]?.carrier == false)
        #expect(links["wg9"]?.flags.contains(.pointToPoint) == true)
        #expect(links["xf0"]?.flags.contains(.pointToPoint) == false)
        #expect(links["vrf9"]?.vrfTable == 9)
        #expect(links["vl0"]?.lowerHere == 19)
        #expect(links["xf0"]?.lowerHere == nil)
        #expect(links["xf0"]?.lower == 19)
        #expect(links["iv0"]?.lowerHere == 20)
        #expect(links["eth0"]?.lower == 11)
        #expect(links["eth0"]?.lowerIsForeign == true)
        #expect(links["vet0"]?.lower == 51 && links["vet0"]?.lowerHere == nil)
        #expect(links["gre9"]?.lower == nil)
    }

    @Test func `settings of interfaces are read`() {
        let links = Fixture.named("multipath").links
        #expect(!links.isEmpty)
        #expect(
            links.allSatisfy {
                $0.settings.ipv4IgnoresLinkdown == false && $0.settings.ipv6IgnoresLinkdown == false
            })
    }

    /// The list was not read.
    @Test func `the alternative names, route_localnet and use_oif_addrs_only of an interface are read`()
        throws
    {
        func attribute(_ type: Int, _ bytes: [UInt8]) -> [UInt8] {
            let length = UInt16(bytes.count + 4)
            let head = [length, UInt16(type)].flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }
            return head + bytes + Array(repeating: 0, count: (4 - bytes.count % 4) % 4)
        }
        func link(_ attributes: [UInt8]) throws -> Link? {
            var header = nlmsghdr()
            header.nlmsg_len = UInt32(
                MemoryLayout<nlmsghdr>.size + MemoryLayout<ifinfomsg>.size + attributes.count)
            header.nlmsg_type = UInt16(RTM_NEWLINK)
            var body = ifinfomsg()
            body.ifi_index = 2
            let bytes =
                withUnsafeBytes(of: header, Array.init) + withUnsafeBytes(of: body, Array.init) + attributes
            return try bytes.withUnsafeBytes { bytes in
                try NetlinkMessage(bytes).flatMap { (message) throws(MalformedMessage) in
                    try LinkReport(message)?.link
                }
            }
        }
        let nested = 0x8000
        let names = ["up1", "uplink-with-a-long-name"].flatMap {
            attribute(Int(IFLA_ALT_IFNAME), Array($0.utf8) + [0])
        }
        // The 26th of the array, which begins with 1.
        var array = [UInt8](repeating: 0, count: 34 * 4)
        array[25 * 4] = 1
        var array6 = [UInt8](repeating: 0, count: 40 * 4)
        array6[37 * 4] = 1
        let settings =
            attribute(Int(AF_INET), attribute(Int(IFLA_INET_CONF), array))
            + attribute(Int(AF_INET6), attribute(Int(IFLA_INET6_CONF), array6))
        let found = try #require(
            try link(attribute(Int(IFLA_PROP_LIST) | nested, names) + attribute(Int(IFLA_AF_SPEC), settings)))
        #expect(found.alternativeNames == ["up1", "uplink-with-a-long-name"])
        #expect(found.isNamed("up1") && !found.isNamed("up2"))
        #expect(found.settings.routesLoopback == true && found.settings.ipv6SelectsOnInterface == true)
        #expect(found.settings.ipv6IgnoresLinkdown == false)
        #expect(try link([])?.settings.routesLoopback == nil)
        #expect(Fixture.named("multipath").links.allSatisfy { $0.settings.routesLoopback == false })
        let long = attribute(Int(IFLA_ALT_IFNAME), Array(repeating: 0x61, count: 128))
        #expect(throws: MalformedMessage.self) { try link(attribute(Int(IFLA_PROP_LIST) | nested, long)) }
    }

    @Test func `a dormant interface is read as dormant`() {
        let link = Fixture.named("dormant").links.first { $0.name == "eth0" }
        #expect(link?.operationalState == .dormant)
        #expect(link?.carrier == true)
        #expect(link?.flags.contains(.lowerUp) == true && link?.flags.contains(.running) == false)
    }

    @Test func `cellular and PPP links are read`() {
        let wwan = Fixture.named("wwan-up").links.first { $0.name == "wwan0" }
        #expect(wwan?.kind == "wwan" && wwan?.hardwareType == HardwareType.none)
        let ppp = Fixture.named("ppp-up").links.first { $0.name == "ppp0" }
        #expect(ppp?.kind == "ppp" && ppp?.hardwareType == .ppp)
        let demand = Fixture.named("ppp-demand").addresses.filter(\.isDialPlaceholder)
        #expect(demand.map(\.address) == [IPAddress(10, 64, 64, 64)])
        #expect(demand.map(\.peer) == [IPAddress(10, 112, 112, 112)])
        #expect(Fixture.named("ppp-up").addresses.contains(where: \.isDialPlaceholder) == false)
    }

    /// Drivers of switches name the conduit as IFLA_LINK and, since Linux 6.1, as the first attribute of the kind's
    /// data, which is the table of a VRF.
    @Test(arguments: ["dsa", ""], [true, false])
    func `a port of a switch stands on its conduit and has its own carrier`(kind: String, hasCarrier: Bool) {
        var message = MessageBytes.link(flags: hasCarrier ? 0x1_1043 : 0x1003)
            .adding(3, Array("lan0\0".utf8)).adding(4, [0xdc, 5, 0, 0]).adding(5, [2, 0, 0, 0])
            .adding(16, [hasCarrier ? 6 : 3]).adding(33, [hasCarrier ? 1 : 0])
        if !kind.isEmpty {
            let data = MessageBytes.attribute(2, MessageBytes.attribute(1, [2, 0, 0, 0]))
            message = message.adding(18, MessageBytes.attribute(1, Array("\(kind)\0".utf8)) + data)
        }
        let link = Link(
            index: 7, name: "lan0", flags: LinkFlags(rawValue: hasCarrier ? 0x1_1043 : 0x1003),
            operationalState: hasCarrier ? .up : .lowerLayerDown, carrier: hasCarrier, kind: kind, lower: 2,
            sizes: PacketSizes(current: 1_500))
        #expect(message.content == .change(.link(LinkReport(link))))
        #expect(link.lowerHere == 2)
    }

    // MARK: Parts

    @Test func `a partial message is marked as partial`() {
        let partial = MessageBytes.link().adding(3, Array("wlan0\0".utf8)).adding(11, [1, 2, 3, 4])
        guard case .change(.link(let message)) = partial.content else {
            Issue.record("another message was parsed")
            return
        }
        #expect(message.isWhole == false)
        #expect(message.link.carrier == nil)
        let whole = partial.adding(16, [6]).adding(4, [0xdc, 5, 0, 0])
        guard case .change(.link(let message)) = whole.content else {
            Issue.record("another message was parsed")
            return
        }
        #expect(message.isWhole)
    }

    @Test(arguments: [UInt8(7), 10]) func `a message of AF_BRIDGE or AF_INET6 is ignored`(family: UInt8) {
        // In an AF_BRIDGE message IFLA_AF_SPEC is another structure under the same number.
        let message = MessageBytes.link(family: family).adding(16, [6]).adding(4, [0, 5, 0, 0]).adding(
            26, [1, 2, 3, 4])
        #expect(message.content == .ignored)
    }

    @Test func `a removal has the index of its interface`() {
        var bytes = MessageBytes.link().adding(3, Array("eth9\0".utf8)).bytes
        bytes[4] = 17
        let content = withExactCopy(of: bytes) { NetlinkMessage($0)?.content }
        #expect(content == .change(.removedLink(index: 7)))
    }

    @Test(arguments: ["fifteen_bytes_x", "fifteen_bytes_x\0", "a", ""])
    func `names fill their fifteen bytes, with a NUL or without`(name: String) {
        guard case .change(.link(let message)) = MessageBytes.link().adding(3, Array(name.utf8)).content
        else {
            Issue.record("another message was parsed")
            return
        }
        #expect(message.link.name == name.prefix { $0 != "\0" })
        #expect(MessageBytes.link().adding(3, Array("sixteen_bytes_xy".utf8)).content == .malformed)
    }

    /// Kinds of 24 bytes and more once made their interface unreadable.
    @Test(arguments: [4, 23, 24, 55]) func `kinds of up to 55 bytes are parsed`(count: Int) {
        let kind = [UInt8](repeating: 0x6b, count: count)
        for (type, path) in [(1, \Link.kind), (4, \Link.portKind)] as [(UInt16, KeyPath<Link, String>)] {
            let message = MessageBytes.link().adding(18, MessageBytes.attribute(type, kind))
            guard case .change(.link(let link)) = message.content else {
                Issue.record("another message was parsed")
                return
            }
            #expect(link.link[keyPath: path].utf8.count == count)
        }
    }

    @Test(arguments: ["bridge", "bond"]) func `the state of a port of a bridge is read`(kind: String) {
        // The same number is another attribute of a bond.
        for state in [0, 2, 3, 9] as [UInt8] {
            let data = MessageBytes.attribute(5, MessageBytes.attribute(1, [state]))
            let message = MessageBytes.link().adding(18, MessageBytes.attribute(4, Array(kind.utf8)) + data)
            guard case .change(.link(let report)) = message.content else {
                Issue.record("another message was parsed")
                return
            }
            let expected = kind == "bridge" ? BridgePortState(rawValue: state) : nil
            #expect(report.link.portState == expected)
        }
    }

    @Test func `wireless interfaces are read`() throws {
        var listed: [UInt32] = []
        for message in Fixture(name: "wifi-associated.nl80211").messages where message[4] > 15 {
            let index = try withExactCopy(of: message) { bytes in
                try DeviceFacts.wirelessIndex(try #require(NetlinkMessage(bytes)))
            }
            // A P2P device has no network interface.
            if let index { listed.append(index) }
        }
        let names = Fixture.named("wifi-associated").links.filter { listed.contains($0.index) }.map(\.name)
        #expect(!names.isEmpty && names.allSatisfy { $0.hasPrefix("wlan") }, "\(names)")
    }

    /// NL80211_ATTR_STA_INFO (21) with NL80211_STA_INFO_SIGNAL (7).
    @Test func `the signal of a station is read`() throws {
        func signal(_ message: MessageBytes) throws -> Int8? {
            try withExactCopy(of: message.bytes) { try DeviceFacts.signal(try #require(NetlinkMessage($0))) }
        }
        func signal(_ attributes: [UInt8]) throws -> Int8? {
            try signal(MessageBytes(type: 28, fixed: [19, 1, 0, 0]).adding(21, attributes))
        }
        #expect(try signal(MessageBytes.attribute(7, [UInt8(bitPattern: -71)])) == -71)
        #expect(try signal(MessageBytes.attribute(8, [1])) == nil)
        #expect(throws: MalformedMessage.self) { try signal(MessageBytes.attribute(7, [])) }
        #expect(try signal([]) == nil)
        #expect(try signal(MessageBytes(type: 28, fixed: [19, 1, 0, 0])) == nil)
        #expect(throws: MalformedMessage.self) { try signal(MessageBytes(type: 28, fixed: [19])) }
    }

    @Test func `the name of a wireless network is read from the message of its interface`() throws {
        // NL80211_ATTR_SSID (52), which is empty or missing without a network.
        let header = MessageBytes(type: 28, fixed: [7, 1, 0, 0])
        for (message, expected) in [
            (header.adding(52, [0xFF, 0x41]), [0xFF, 0x41]), (header.adding(52, []), nil), (header, nil),
        ] as [(MessageBytes, [UInt8]?)] {
            let name = try withExactCopy(of: message.bytes) {
                try DeviceFacts.ssid(try #require(NetlinkMessage($0)))
            }
            #expect(name == expected)
        }
    }

    /// `ndmsg` of interface 2 with a state, NDA_DST (1) and NDA_LLADDR (2).
    @Test func `the hardware address of a neighbour counts while it is valid`() throws {
        func address(state: UInt8, _ hardware: [UInt8]?) throws -> [UInt8]? {
            var message = MessageBytes(type: 28, fixed: [2, 0, 0, 0, 2, 0, 0, 0, state, 0, 0, 1])
                .adding(1, [192, 0, 2, 1])
            if let hardware { message = message.adding(2, hardware) }
            let found = try withExactCopy(of: message.bytes) {
                try Neighbour.hardwareAddress(try #require(NetlinkMessage($0)))
            }
            if let found {
                #expect(found.key == Neighbour.Key(interfaceIndex: 2, address: IPAddress(192, 0, 2, 1)))
            }
            return found?.value
        }
        let hardware: [UInt8] = [2, 0, 0, 0, 0, 9]
        for state: UInt8 in [0x02, 0x04, 0x08, 0x10, 0x80] {
            #expect(try address(state: state, hardware) == hardware)
        }
        for state: UInt8 in [0x00, 0x01, 0x20] { #expect(try address(state: state, hardware) == nil) }
        #expect(try address(state: 0x40, [0, 0, 0, 0, 0, 0]) == nil)
        #expect(try address(state: 0x02, nil) == nil)
        #expect(try address(state: 0x02, []) == nil)
    }

    @Test func `only the right uevent makes a cellular device`() {
        func isCellular(_ text: String) -> Bool {
            DeviceFacts.isCellular(uevent: text, index: 7)
        }
        #expect(isCellular("DEVTYPE=wwan\nINTERFACE=wwan0\nIFINDEX=7\n"))
        #expect(!isCellular("DEVTYPE=wwan\nINTERFACE=wwan0\nIFINDEX=77\n"))
        #expect(!isCellular("DEVTYPE=wlan\nIFINDEX=7\n"))
        #expect(!isCellular("XDEVTYPE=wwan\nIFINDEX=7\n"))
        #expect(!isCellular("DEVTYPE=wwan2\nIFINDEX=7\n"))
        #expect(!isCellular("") && !isCellular("\u{0}\n\n"))
        for name in ["lo", "nosuch0", "..", ".", "", "a/b", "../../../etc"] {
            #expect(!DeviceFacts.isCellular(name: name, index: 1))
        }
    }
}
