// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim
import Glibc
import RoutingModel
import Testing

@testable import NetlinkReachability

/// The destination of a route message, and what is malformed in one.
struct DestinationMessageTests {
    private func parse(_ message: [UInt8]) -> (route: cnl_route?, status: Int32) {
        withExactCopy(of: message) { bytes in
            guard let base = bytes.baseAddress else { return (nil, -EBADMSG) }
            var route = cnl_route()
            let status = cnl_parse_route(base, bytes.count, &route)
            return (status == 0 ? route : nil, status)
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

    @Test func `a message that is not about IPv4 or IPv6 routes is not a route`() {
        #expect(parse(MessageBytes.link().bytes).status == -ENOMSG)
        var bridge = MessageBytes.route().bytes
        bridge[16] = UInt8(AF_BRIDGE)
        #expect(parse(bridge).status == -ENOMSG)
    }
}
