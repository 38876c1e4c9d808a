// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import Foundation
import NetlinkReachability
import RoutingModel
import Testing

/// Values of the API as JSON and as text.
struct CodingTests {
    private func roundTrip<Value: Codable>(_ value: Value) throws -> Value {
        try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
    }

    private func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private func report() throws -> ReachabilityReport {
        var script = ScriptedRouting.Script(
            answers: [remote: [.route(.via(2, gateway: gateway))]], interfaces: [.eth0])
        script.connections = [remote: .refused(RouteRejection(rawValue: EPERM))]
        return try reachability(.address(remote), ScriptedRouting(script)).blockingReport()
    }

    // MARK: Round trips

    @Test(arguments: ["example.com", "192.0.2.1", "fe80::1%eth0", "0.0.0.0"])
    func `a target survives encoding`(text: String) throws {
        let target = try ReachabilityTarget.host(text)
        #expect(try roundTrip(target) == target)
    }

    @Test func `a pair survives encoding`() throws {
        let pair = try ReachabilityTarget.pair(local: gateway, remote: remote)
        #expect(try roundTrip(pair) == pair)
        #expect(try json(pair) == #"{"local":"192.0.2.1","remote":"198.51.100.7"}"#)
    }

    @Test func `decoding a target checks its text`() {
        let text = Data(#"{"host":"https://example.com"}"#.utf8)
        #expect(throws: ReachabilityError.self) {
            try JSONDecoder().decode(ReachabilityTarget.self, from: text)
        }
    }

    @Test(arguments: [
        #"{"hots":"db.internal"}"#, #"{"host":"db.internal","port":443}"#, #"{"local":"192.0.2.1"}"#,
        #"{"host":"db.internal","address":"192.0.2.1"}"#, #"{"remote":"192.0.2.1"}"#, #"{"host":null}"#,
    ])
    func `a target with another key, or without all that it needs, is refused`(text: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(ReachabilityTarget.self, from: Data(text.utf8))
        }
    }

    @Test(arguments: [
        #"{"intreface":{"name":"eth0"}}"#, #"{"interface":{"nmae":"eth0"}}"#, #"{"interface":{}}"#,
        #"{"resolution":{"timeout":[0,0],"retries":2}}"#,
    ])
    func `an option that does not exist is refused`(text: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(ReachabilityOptions.self, from: Data(text.utf8))
        }
    }

    @Test func `what is refused is named with the keys that there are`() throws {
        let error = #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([ReachabilityTarget].self, from: Data(#"[{"hots":"db.internal"}]"#.utf8))
        }
        guard case .dataCorrupted(let context)? = error else {
            _ = try #require(nil as Int?)
            return
        }
        #expect(context.debugDescription == "there is no key hots: the keys are host, address, local, remote")
        #expect(context.codingPath.last?.stringValue == "hots")
    }

    @Test func `a report of a newer version is read without what that has added`() throws {
        let text = try json(NetworkInterface(index: 2, name: "eth0", type: .wifi))
        let newer = text.dropLast() + #","colour":"blue"}"#
        #expect(try JSONDecoder().decode(NetworkInterface.self, from: Data(newer.utf8)).name == "eth0")
    }

    @Test func `options survive encoding`() throws {
        var options = ReachabilityOptions()
        options.families = .v6
        options.interface = "eth0"
        options.sourceAddress = gateway
        options.mark = 42
        options.user = 1_000
        options.resolution.timeout = .milliseconds(1_500)
        #expect(try roundTrip(options) == options)
    }

    @Test func `every option is encoded`() throws {
        var options = ReachabilityOptions()
        options.interface = "eth0"
        options.sourceAddress = gateway
        options.user = 1_000
        options.ipProtocol = .tcp
        options.sourcePort = 1_024
        options.destinationPort = 443
        let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(options))
        let keys = (object as? [String: Any])?.keys.sorted()
        let properties = Mirror(reflecting: options).children.compactMap(\.label).sorted()
        #expect(keys == properties)
    }

    @Test(arguments: [
        (ReachabilityOptions.IPProtocol.tcp, "6", "tcp"), (.udp, "17", "udp"), (.icmp, "1", "icmp"),
        (132, "132", "132"),
    ])
    func `a protocol is encoded as its number`(
        value: ReachabilityOptions.IPProtocol, number: String, words: String
    ) throws {
        #expect(String(decoding: try JSONEncoder().encode(value), as: UTF8.self) == number)
        #expect(try roundTrip(value) == value)
        #expect("\(value)" == words)
    }

    @Test func `missing options have their defaults`() throws {
        let options = try JSONDecoder().decode(ReachabilityOptions.self, from: Data("{}".utf8))
        #expect(options == ReachabilityOptions())
    }

    @Test func `a report survives encoding`() throws {
        let report = try report()
        let decoded = try roundTrip(report)
        #expect(decoded == report)
        #expect(decoded.hashValue == report.hashValue)
        #expect(decoded.findings.map(\.address) == [remote])
        #expect(decoded.connectResult == .refused(errno: EPERM))
    }

    @Test(arguments: ReachabilityReason.Code.allCases)
    func `a reason survives encoding, with its code as text`(kind: ReachabilityReason.Code) throws {
        let reason = ReachabilityReason(kind, "eth0", other: "192.0.2.1")
        #expect(try roundTrip(reason) == reason)
        #expect(try roundTrip(reason.code) == reason.code)
        #expect(try json([reason.code]) == "[\"\(kind)\"]")
    }

    @Test func `an interface survives encoding`() throws {
        let interface = NetworkInterface(index: 2, name: "eth0", type: .wifi)
        #expect(try roundTrip(interface) == interface)
        #expect(try json(interface) == #"{"index":2,"name":"eth0","type":"wifi"}"#)
    }

    // MARK: Text

    @Test func `values describe themselves in one line`() throws {
        let report = try report()
        let route = "198.51.100.7: -R -------, through gateway 192.0.2.1 on eth0"
        let refused = "198.51.100.7: -R -------, a socket is refused with EPERM, although there is a route"
        #expect(report.description == refused)
        #expect(report.findings.map(\.description) == [route])
        #expect(report.interface?.description == "eth0 (wiredEthernet)")
        #expect(report.interface?.id == 2)
    }

    @Test(arguments: [
        (Route(destination: .allV4, priority: 100), "default table main metric 100"),
        (Route(destination: "10.0.0.0/8", type: .blackhole), "blackhole 10.0.0.0/8 table main metric 0"),
    ])
    func `a route describes itself in the order of ip`(route: Route, words: String) {
        #expect(NetworkRoute(route, name: { _ in nil }).description == words)
    }

    @Test func `a nexthop has what the kernel says of it, in one line`() throws {
        let nexthop = Nexthop(
            interfaceIndex: 2, gateway: gateway, weight: 3, flags: [.linkDown, .onLink],
            encapsulation: Encapsulation(.seg6, to: "2001:db8::9"))
        let plain = Nexthop(interfaceIndex: 3)
        let route = NetworkRoute(Route(destination: .allV4, nexthops: [nexthop, plain], nexthopID: 7)) {
            $0 == 2 ? "eth0" : nil
        }
        #expect(
            route.nexthops.map(\.description) == [
                "encap seg6 to 2001:db8::9 via 192.0.2.1 on eth0, weight 3, onlink, linkdown",
                "on interface 3",
            ])
        #expect(route.nexthops.map(\.interfaceName) == ["eth0", nil])
        #expect(route.nexthopID == 7)
        #expect(try roundTrip(route) == route)
    }

    @Test func `the flags of a nexthop keep bits without a name`() throws {
        let flags = NetworkRoute.Nexthop.Flags(rawValue: 0x51)
        #expect(try roundTrip(flags) == flags)
        #expect(flags.contains([.dead, .linkDown]) && !flags.contains(.unresolved))
        #expect(flags.description == "dead linkdown")
    }

    @Test func `options describe what differs from the defaults`() {
        var options = ReachabilityOptions()
        #expect(options.description == "default")
        options.interface = "eth0"
        options.mark = 42
        #expect(options.description == "interface eth0, mark 0x2a")
    }

    @Test func `every reason code has a public name`() {
        let codes: [ReachabilityReason.Code] = [
            .localAddress, .anycastAddress, .onLink, .pointToPoint, .broadcast, .multicast, .gateway,
            .dormant,
            .notDialled, .noRoute, .noRouteOutOfInterface, .noDefaultRoute, .unreachable, .prohibited,
            .blackhole,
            .noFamily, .noSourceAddress, .unusableSource, .groupOverTCP, .unusableRoute, .interfaceDown,
            .noCarrier, .lowerInterfaceDown,
            .lowerNoCarrier,
            .interfaceGone, .remoteIsLocalAddress, .encapsulated, .outerUnreachable, .unknownReturnPath,
            .needsInterface, .noInterface, .notOwnAddress,
            .loopbackSource, .excludedFamily,
            .noAdmittedInterface,
            .nameNotFound,
            .nameNotResolved, .nameTimedOut, .tunnelWaits, .tunnelLoops,
            .payloadNotCarried, .noPeer, .noEndpoint, .someConnections, .refusedByRule, .socketRefused,
            .tunnelsTooDeep,
            .answerDropped, .reversePathFilter, .notForwarding,
            .ownSource, .martianSource, .martianDestination, .groupNotJoined, .ipv6Off, .scopedSource,
        ]
        #expect(
            codes.map(\.description).sorted() == ReachabilityReason.Code.allCases.map(\.rawValue).sorted())
    }
}
