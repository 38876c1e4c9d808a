// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkRecording
import RoutingModel
import Testing

/// Which packets a rule or a route selects by protocol, ports, type of service and user.
struct SnapshotFlowTests {
    private static let udp: UInt8 = 17
    private static let tcp: UInt8 = 6

    /// A host with default routes and one rule of each family that refuses what it selects.
    private static func host(_ change: (inout Rule) -> Void) -> NetworkSnapshot {
        makeHost(
            .route("0.0.0.0/0", via: "192.0.2.1", dev: 2), .route("::/0", via: "2001:db8::1", dev: 2),
            .rule(.v4, 100, .prohibit, change: change), .rule(.v6, 100, .prohibit, change: change)
        )
    }

    private static func refuses(
        _ rule: (inout Rule) -> Void,
        _ query: (inout RouteQuery) -> Void
    ) -> [Bool] {
        ["10.0.0.1", "2001:db8:1::1"].map { host(rule).way($0, change: query) == "errno 13" }
    }

    @Test func `without a protocol a packet is a UDP packet in both families`() {
        #expect(Self.refuses({ $0.ipProtocol = Self.udp }, { _ in }) == [true, true])
        #expect(Self.refuses({ $0.ipProtocol = Self.tcp }, { _ in }) == [false, false])
    }

    @Test func `a rule for a protocol selects that protocol alone`() {
        #expect(Self.refuses({ $0.ipProtocol = Self.tcp }, { $0.ipProtocol = Self.tcp }) == [true, true])
        #expect(Self.refuses({ $0.ipProtocol = Self.udp }, { $0.ipProtocol = Self.tcp }) == [false, false])
    }

    @Test func `a rule for ports selects the ports of its range`() {
        #expect(Self.refuses({ $0.destinationPorts = 50...53 }, { $0.destinationPort = 53 }) == [true, true])
        #expect(
            Self.refuses({ $0.destinationPorts = 50...53 }, { $0.destinationPort = 54 }) == [false, false])
        #expect(Self.refuses({ $0.destinationPorts = 50...53 }, { $0.sourcePort = 53 }) == [false, false])
        #expect(Self.refuses({ $0.sourcePorts = 53...53 }, { $0.sourcePort = 53 }) == [true, true])
        #expect(Self.refuses({ $0.sourcePorts = 53...53 }, { _ in }) == [false, false])
    }

    /// Only the port of the rule itself was open, and others were taken for none of it.
    @Test func `a rule for a port with a mask selects each port with these bits`() {
        let rule: (inout Rule) -> Void = {
            ($0.destinationPorts, $0.destinationPortMask) = (0x1000...0x1000, 0xff00)
        }
        #expect(Self.refuses(rule, { $0.destinationPort = 0x1004 }) == [true, true])
        #expect(Self.refuses(rule, { $0.destinationPort = 0x1104 }) == [false, false])
        #expect(Self.refuses(rule, { $0.sourcePort = 0x1004 }) == [false, false])
    }

    @Test func `IPv4 compares the lower three bits of the DSCP with a rule's type of service, IPv6 all six`()
    {
        #expect(Self.refuses({ $0.tos = 0x10 }, { $0.typeOfService = 0x10 }) == [true, true])
        #expect(Self.refuses({ $0.tos = 0x10 }, { $0.typeOfService = 0x13 }) == [true, true])
        #expect(Self.refuses({ $0.tos = 0x10 }, { $0.typeOfService = 0xb0 }) == [true, false])
        #expect(Self.refuses({ $0.tos = 0x10 }, { _ in }) == [false, false])
    }

    @Test func `a rule for a DSCP compares the bits of its mask`() {
        #expect(Self.refuses({ $0.dscp = Masked(46) }, { $0.typeOfService = 46 << 2 }) == [true, true])
        #expect(Self.refuses({ $0.dscp = Masked(46) }, { $0.typeOfService = 45 << 2 }) == [false, false])
        #expect(
            Self.refuses({ $0.dscp = Masked(0x20, mask: 0x20) }, { $0.typeOfService = 46 << 2 })
                == [true, true])
    }

    @Test func `a rule for users selects the user of the query`() {
        #expect(Self.refuses({ $0.users = 1_000...1_001 }, { $0.user = 1_001 }) == [true, true])
        #expect(Self.refuses({ $0.users = 1_000...1_001 }, { $0.user = 1_002 }) == [false, false])
    }

    @Test func `an IPv4 route for a type of service comes before the plain route of the same prefix`() {
        let host = makeHost(
            .route("10.0.0.0/8", dev: 2), .route("10.0.0.0/8", dev: 3, metric: 9) { $0.tos = 0x10 })
        #expect(host.way("10.0.0.1") == "10.0.0.0/8 link dev 2")
        #expect(host.way("10.0.0.1") { $0.typeOfService = 0x10 } == "10.0.0.0/8 link dev 3")
        #expect(host.way("10.0.0.1") { $0.typeOfService = 0x08 } == "10.0.0.0/8 link dev 2")
    }

    @Test func `an IPv4 default route for a type of service is used for that type alone`() {
        let host = makeHost(
            .route("0.0.0.0/0", via: "192.0.2.1", dev: 2),
            .route("0.0.0.0/0", via: "192.0.2.9", dev: 3) { $0.tos = 0x10 })
        #expect(host.way("10.0.0.1") == "0.0.0.0/0 192.0.2.1 dev 2")
        #expect(host.way("10.0.0.1") { $0.typeOfService = 0x08 } == "0.0.0.0/0 192.0.2.1 dev 2")
    }
}
