// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkReachability

/// What the packet decides beside its route: its source address and its protocol.
struct RulesPacketTests {
    private static let target = IPAddress(v6High: 0x2001_0db8_0009 << 16, low: 9)
    private static let neighbour = IPAddress(v6High: 0xfe80 << 48, low: 9)
    private static let linkLocal = IPAddress(v6High: 0xfe80 << 48, low: 2)
    private static let global = IPAddress(v6High: 0x2001_0db8 << 32, low: 2)
    private static let router = IPAddress(v6High: 0xfe80 << 48, low: 1)

    private func judged(_ target: IPAddress, from source: IPAddress?, via gateway: IPAddress?) -> Evaluation {
        judge(.route(.via(2, gateway: gateway)), about: .address(target), from: source, [.eth0])
    }

    @Test(arguments: [linkLocal, .loopbackV6])
    func `IPv6 behind a gateway is not reachable from an address that no router forwards`(source: IPAddress) {
        let evaluation = judged(Self.target, from: source, via: Self.router)
        #expect(evaluation.flags.isEmpty && evaluation.kind == .unusableSource)
    }

    @Test func `other sources and neighbours are as the route says`() {
        #expect(judged(Self.target, from: Self.global, via: Self.router).flags == .reachable)
        #expect(judged(Self.target, from: nil, via: Self.router).flags == .reachable)
        #expect(judged(Self.target, from: Self.linkLocal, via: nil).flags == direct)
        #expect(judged(Self.neighbour, from: Self.linkLocal, via: nil).flags == direct)
    }

    @Test func `IPv4 is not reachable from 0.0.0.0, and is from a link-local address`() {
        for gateway in [nil, gateway] {
            let evaluation = judged(remote, from: .anyV4, via: gateway)
            #expect(evaluation.flags.isEmpty && evaluation.kind == .unusableSource)
            #expect(judged(remote, from: IPAddress(169, 254, 1, 2), via: gateway).flags.contains(.reachable))
        }
    }

    /// Daemons add such a default route where DHCP does not answer.
    ///
    /// It was the default path.
    @Test func `the default path does not lead from a link-local IPv4 address without a gateway`() {
        let source = IPAddress(169, 254, 1, 2)
        for candidate in Candidate.defaultPath(.v4) {
            let alone = judge(.route(.via(2)), about: candidate, from: source, [.eth0])
            #expect(alone.flags.isEmpty && alone.kind == .unusableSource)
            // Hosts of containers translate it, and tunnels need no ARP.
            let behind = judge(.route(.via(2, gateway: gateway)), about: candidate, from: source, [.eth0])
            #expect(behind.flags == .reachable)
            let tunnel = judge(.route(.via(4)), about: candidate, from: source, [.tunnel])
            #expect(tunnel.flags.contains(.reachable))
        }
    }

    /// DHCP sends from 0.0.0.0.
    @Test func `groups and broadcast addresses are reachable from 0.0.0.0`() {
        for type in [RouteType.broadcast, .multicast] {
            #expect(judge(.route(.via(2, type: type)), from: .anyV4, [.eth0]).flags == direct)
        }
    }

    @Test func `a lost carrier is the reason before a source without use`() {
        let unplugged = InterfaceFacts.eth0.with { $0.carrier = false }
        #expect(judge(.route(.via(2)), from: .anyV4, [unplugged]).kind == .noCarrier)
    }

    @Test func `TCP does not connect to groups and broadcast addresses`() {
        let group = IPAddress(v6High: 0xff02 << 48, low: 1)
        for type in [RouteType.broadcast, .multicast] {
            let evaluation = judge(.route(.via(2, type: type)), ipProtocol: 6, [.eth0])
            #expect(evaluation.flags.isEmpty && evaluation.kind == .groupOverTCP)
            #expect(judge(.route(.via(2, type: type)), ipProtocol: 17, [.eth0]).flags == direct)
        }
        // Old kernels have unicast routes for IPv6 groups.
        let answer = RouteAnswer.route(.via(2))
        #expect(judge(answer, about: .address(group), ipProtocol: 6, [.eth0]).kind == .groupOverTCP)
        #expect(judge(answer, ipProtocol: 6, [.eth0]).flags == direct)
    }

    /// `tcp_v6_connect` looks at the address alone, `ip -6 route add broadcast` or not.
    @Test(arguments: [RouteType.broadcast, .multicast])
    func `TCP connects to an IPv6 address whose route is of a group's type`(type: RouteType) {
        let address = IPAddress(v6High: 0x2001_0db8 << 32, low: 1)
        let evaluation = judge(.route(.via(2, type: type)), about: .address(address), ipProtocol: 6, [.eth0])
        #expect(evaluation.flags == direct)
    }
}
