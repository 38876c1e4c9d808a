// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim
import Glibc
import RoutingModel
import Testing

@testable import NetlinkRoute

/// The short way through a route message, against the whole one.
struct EntryMessageTests {
    /// Parses a message both ways.
    private func parse(_ message: [UInt8]) -> (route: cnl_route?, entry: cnl_entry?, status: Int32) {
        withExactCopy(of: message) { bytes in
            guard let base = bytes.baseAddress else { return (nil, nil, -EBADMSG) }
            var (route, entry) = (cnl_route(), cnl_entry())
            let isRoute = cnl_parse_route(base, bytes.count, &route) == 0
            let status = cnl_parse_entry(base, bytes.count, &entry)
            return (isRoute ? route : nil, status == 0 ? entry : nil, status)
        }
    }

    @Test(arguments: Fixture.states) func `an entry agrees with the whole route`(fixture: Fixture) {
        for message in fixture.messages where message[4] == 24 {
            guard case (let route?, let entry?, _) = parse(message) else {
                Issue.record("a route cannot be parsed")
                continue
            }
            #expect(entry.type == route.type && entry.protocol == route.protocol)
            #expect(entry.is_single == (route.nexthops == nil && route.nexthop.interface_index != 0))
            if entry.is_single { #expect(Nexthop(entry) == Nexthop(route.nexthop)) }
        }
    }

    @Test(arguments: ["multipath", "via-ipv6"])
    func `an entry cut anywhere is as malformed as the whole route`(name: String) {
        for message in Fixture.named(name).messages where message[4] == 24 {
            for count in 16..<message.count {
                let (route, entry, _) = parse(
                    MessageBytes.bytes(of: UInt32(count)) + message[4..<count])
                #expect((route == nil) == (entry == nil), "\(count) of \(message.count) bytes")
            }
        }
    }

    @Test func `an attribute too short for its value is malformed`() {
        // RTA_OIF, RTA_GATEWAY and RTA_VIA.
        for (type, count) in [(4, 3), (5, 3), (5, 16), (18, 1), (18, 5)] as [(UInt16, Int)] {
            let message = MessageBytes.route().adding(type, Array(repeating: 2, count: count))
            #expect(parse(message.bytes).status == -EBADMSG, "\(count) bytes of attribute \(type)")
        }
    }

    private func destination(_ message: [UInt8]) -> (status: Int32, value: cnl_destination) {
        withExactCopy(of: message) { bytes in
            var value = cnl_destination()
            let status = bytes.baseAddress.map { cnl_parse_destination($0, bytes.count, &value) }
            return (status ?? -EBADMSG, value)
        }
    }

    @Test(arguments: Fixture.states) func `a destination is that of the whole route`(fixture: Fixture) throws
    {
        for message in fixture.messages where message[4] == 24 {
            let route = try #require(parse(message).route)
            let (status, found) = destination(message)
            #expect(status == 0)
            #expect((found.family, found.length) == (route.family, route.destination_length))
            #expect(
                IPAddress(family: found.family, fixedBytes: found.address)
                    == IPAddress(family: route.family, fixedBytes: route.destination))
        }
    }

    @Test func `a destination needs its own address and no other attribute`() {
        // RTA_DST, and RTA_GATEWAY of one byte.
        let whole = MessageBytes.route().adding(1, [192, 0, 2, 0])
        #expect(destination(whole.bytes).status == 0)
        #expect(destination(whole.adding(5, [2]).bytes).status == 0)
        #expect(destination(MessageBytes.route().bytes).status == -EBADMSG)
        #expect(destination(MessageBytes.route().adding(1, [192, 0]).bytes).status == -EBADMSG)
        let tooLong = MessageBytes.route(prefix: 33).adding(1, [192, 0, 2, 0])
        #expect(destination(tooLong.bytes).status == -EBADMSG)
        #expect(destination(MessageBytes.rule().bytes).status == -ENOMSG)
    }

    @Test func `a message that is no route of IPv4 or IPv6 is no entry`() {
        #expect(parse(MessageBytes.link().bytes).status == -ENOMSG)
        var bridge = MessageBytes.route().bytes
        bridge[16] = UInt8(AF_BRIDGE)
        #expect(parse(bridge).status == -ENOMSG)
    }
}
