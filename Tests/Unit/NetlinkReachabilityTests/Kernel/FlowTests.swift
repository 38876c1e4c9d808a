// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Glibc
import NamespaceTraits
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkReachability

/// A host with routes in table 100, which only rules lead to.
private let hostScript = """
    ip link set lo up
    ip link add v0 type veth peer name v1
    ip link set v0 up; ip link set v1 up
    ip addr add 192.0.2.2/24 dev v0; ip addr add 2001:db8::2/64 dev v0 nodad
    ip route add 198.51.100.0/24 via 192.0.2.1 dev v0 table 100
    ip -6 route add 2001:db8:f::/48 via 2001:db8::1 dev v0 table 100
    """

private let destinations = [IPAddress(198, 51, 100, 7), IPAddress("2001:db8:f::7")].compactMap { $0 }

@Suite(.needsNetwork)
struct FlowTests {
    /// Adds a rule for table 100 in both families, and returns whether a lookup then finds the route in it.
    private func finds(
        _ rule: String,
        at location: SourceLocation = #_sourceLocation,
        _ configure: (inout RouteQuery) -> Void
    ) throws -> [Bool] {
        try LiveNetwork().run {
            try ShellCommand.check(hostScript)
            try ShellCommand.check("ip rule add \(rule) lookup 100; ip -6 rule add \(rule) lookup 100")
            var socket = try QuerySocket()
            return try destinations.map { destination in
                var query = RouteQuery(destination: destination)
                configure(&query)
                guard let route = try socket.answer(to: query.forEntry).entry else { return false }
                #expect(route.table == 100, sourceLocation: location)
                return true
            }
        }
    }

    @Test func `without a protocol a lookup is for a UDP packet, in both families`() throws {
        #expect(try finds("ipproto udp") { _ in } == [true, true])
        #expect(try finds("ipproto tcp") { _ in } == [false, false])
    }

    @Test func `a rule for a protocol applies to that protocol`() throws {
        #expect(try finds("ipproto tcp") { $0.ipProtocol = UInt8(IPPROTO_TCP) } == [true, true])
        #expect(try finds("ipproto udp") { $0.ipProtocol = UInt8(IPPROTO_TCP) } == [false, false])
    }

    @Test func `a rule for a port applies to that port`() throws {
        #expect(try finds("dport 53") { $0.destinationPort = 53 } == [true, true])
        #expect(try finds("dport 53") { $0.destinationPort = 54 } == [false, false])
        #expect(try finds("dport 53") { _ in } == [false, false])
        #expect(try finds("ipproto udp sport 4000-4010") { $0.sourcePort = 4_005 } == [true, true])
        #expect(try finds("ipproto udp sport 4000-4010") { $0.sourcePort = 5_005 } == [false, false])
    }

    @Test func `a rule for a type of service applies to that type`() throws {
        #expect(try finds("tos 0x10") { $0.typeOfService = 0x10 } == [true, true])
        #expect(try finds("tos 0x10") { _ in } == [false, false])
    }

    @Test func `a protocol that the kernel cannot look up is an error, not a missing address family`() throws
    {
        var socket = try QuerySocket()
        for destination in [IPAddress.loopbackV4, .loopbackV6] {
            do throws(ReachabilityError) {
                var query = RouteQuery(destination: destination)
                query.ipProtocol = 47
                let answer = try socket.answer(to: query)
                Issue.record("\(answer)")
            } catch {
                #expect(error.number == EOPNOTSUPP)
                #expect(!error.message.isEmpty)
            }
        }
    }

    @Test func `an own address is found in the local table, also before the first rule is added`() throws {
        try LiveNetwork().run {
            try ShellCommand.check(hostScript)
            try ShellCommand.check("ip route add local 203.0.113.9 dev lo table main")
            var socket = try QuerySocket()
            let addresses: [(IPAddress, UInt32)] = [
                (.loopbackV4, Route.localTable), (IPAddress(192, 0, 2, 2), Route.localTable),
                (IPAddress(192, 0, 2, 255), Route.localTable), (.loopbackV6, Route.localTable),
                (IPAddress(203, 0, 113, 9), Route.mainTable), (IPAddress(192, 0, 2, 9), Route.mainTable),
            ]
            for (address, table) in addresses {
                let answer = try socket.answer(to: RouteQuery(destination: address).forEntry)
                #expect(answer.entry?.table == table, "\(address)")
            }
        }
    }
}
