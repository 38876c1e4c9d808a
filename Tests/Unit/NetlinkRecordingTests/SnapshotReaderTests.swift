// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute
import RoutingModel
import RoutingSimulation
import TestSupport
import Testing

@testable import NetlinkRecording

/// ``SnapshotReader`` compared with ``NetworkSnapshot/apply(_:)`` for each message.
struct SnapshotReaderTests {
    /// An RTM_NEWROUTE of IPv4 as the kernel lays it out: RTA_TABLE, RTA_DST, then the other attributes.
    private func route(
        _ destination: [UInt8],
        length: UInt8 = 24,
        gateway: UInt8 = 2,
        scope: UInt8 = 0,
        more: [UInt8] = []
    ) -> [UInt8] {
        let body: [UInt8] = [2, length, 0, 0, 254, 4, scope, 1, 0, 0, 0, 0]
        let attributes: [UInt8] =
            [8, 0, 15, 0, 254, 0, 0, 0] + [8, 0, 1, 0] + destination + [8, 0, 5, 0, 192, 0, 2, gateway]
            + [8, 0, 4, 0, 2, 0, 0, 0] + more
        let size = UInt8(16 + body.count + attributes.count)
        return [size, 0, 0, 0, 24, 0, 2, 0] + [UInt8](repeating: 0, count: 8) + body + attributes
    }

    private func forEachMessage(_ messages: [[UInt8]], _ body: (NetlinkMessage) -> Void) {
        for bytes in messages {
            bytes.withUnsafeBytes { bytes in
                guard let message = NetlinkMessage(bytes) else {
                    Issue.record("a cut message")
                    return
                }
                body(message)
            }
        }
    }

    /// The routes of a snapshot reader, and of a snapshot that applies each message.
    private func routes(_ messages: [[UInt8]]) -> (quick: [Route], whole: [Route]) {
        var snapshotReader = SnapshotReader()
        var snapshot = NetworkSnapshot()
        forEachMessage(messages) { message in
            snapshotReader.take(message)
            if let change = message.change { snapshot.apply(change) }
        }
        return (snapshotReader.snapshot.routes, snapshot.routes)
    }

    @Test func `routes that differ in their prefix alone are added by a template`() {
        let routes = routes((0..<100).map { route([10, 0, $0, 0]) })
        #expect(routes.quick == routes.whole)
        #expect(routes.quick.count == 100)
    }

    @Test func `interleaved templates are not mixed up: gateway, scope, prefix length`() {
        let routes = routes(
            (0..<200).map {
                route([10, 0, $0, 0], length: 24 + $0 % 3, gateway: 2 + $0 % 5, scope: $0 % 2 * 253)
            })
        #expect(routes.quick == routes.whole)
        #expect(Set(routes.quick.map(\.nexthops)).count == 5)
        #expect(Set(routes.quick.map(\.scope)).count == 2)
    }

    @Test func `a second route of a prefix joins the first one`() {
        let messages = [
            route([10, 0, 0, 0]), route([10, 0, 1, 0], gateway: 3), route([10, 0, 0, 0], gateway: 3),
        ]
        let routes = routes(messages + messages)
        #expect(routes.quick == routes.whole)
        #expect(routes.quick.count == 3)
    }

    @Test func `a message with two destinations is parsed whole each time`() {
        let routes = routes(
            (0..<10).map { route([10, 0, $0, 0], more: [8, 0, 1, 0, 10, 9, 9, 0]) })
        #expect(routes.quick == routes.whole)
    }

    @Test func `routes that are added and removed in any order are the same, alone in their prefix or not`() {
        var random = SeededGenerator(seed: 11)
        var messages: [[UInt8]] = []
        for _ in 0..<4_000 {
            let (third, gateway) = (
                UInt8.random(in: 0..<20, using: &random), UInt8.random(in: 1..<4, using: &random)
            )
            var message =
                Bool.random(using: &random)
                ? route([10, 0, third, 0], gateway: gateway) : route6(third, gateway: gateway)
            if Bool.random(using: &random) { message[4] = 25 }
            // As the kernel notifies a route: created, in its place among others, or in place of another.
            let flags: [UInt8] = [0, 4, 6, 8, 1]
            message[7] = message[4] == 24 ? flags.randomElement(using: &random) ?? 0 : 0
            messages.append(message)
        }
        let routes = routes(messages)
        #expect(Set(routes.quick) == Set(routes.whole))
        #expect(routes.quick.count == routes.whole.count && routes.quick.count > 10)
    }

    // MARK: IPv6

    /// An RTM_NEWROUTE of IPv6: RTA_TABLE, RTA_DST, then a gateway.
    private func route6(_ third: UInt8, length: UInt8 = 48, gateway: UInt8 = 1) -> [UInt8] {
        let body: [UInt8] = [10, length, 0, 0, 254, 4, 0, 1, 0, 0, 0, 0]
        let destination: [UInt8] = [0x20, 1, 0x0d, 0xb8, 0, third] + [UInt8](repeating: 0, count: 10)
        let next: [UInt8] = [0xfe, 0x80] + [UInt8](repeating: 0, count: 13) + [gateway]
        let attributes: [UInt8] =
            [8, 0, 15, 0, 254, 0, 0, 0] + [20, 0, 1, 0] + destination + [20, 0, 5, 0] + next
            + [8, 0, 4, 0, 2, 0, 0, 0]
        let size = UInt8(16 + body.count + attributes.count)
        return [size, 0, 0, 0, 24, 0, 2, 0] + [UInt8](repeating: 0, count: 8) + body + attributes
    }

    @Test func `IPv6 templates are not mixed up with each other or with those of IPv4`() {
        let messages = (0..<120).map { route6($0, length: 48 + $0 % 3 * 8, gateway: 1 + $0 % 4) }
        let routes = routes(messages + (0..<50).map { route([10, 0, $0, 0]) })
        #expect(routes.quick == routes.whole)
        #expect(routes.quick.count == 170)
        #expect(Set(routes.quick.map(\.nexthops)).count == 5)
        #expect(routes.quick.contains { $0.destination == IPPrefix("2001:db8:5::/64") })
    }

    @Test func `a second IPv6 route of a prefix joins the first when their metrics are equal`() {
        let routes = routes([route6(1), route6(2, gateway: 2), route6(1, gateway: 2), route6(1)])
        #expect(routes.quick == routes.whole)
    }

    @Test func `an IPv6 prefix length above 128 is malformed, also after a message of the same form`() {
        var snapshotReader = SnapshotReader()
        var results: [SnapshotReader.Result] = []
        forEachMessage([route6(1), route6(2), route6(3, length: 129)]) {
            results.append(snapshotReader.take($0))
        }
        #expect(results == [.applied, .applied, .malformed])
        #expect(snapshotReader.snapshot.routeCount == 2)
    }

    @Test func `an IPv4 prefix length above 32 is malformed, also after a message of the same form`() {
        var snapshotReader = SnapshotReader()
        var results: [SnapshotReader.Result] = []
        forEachMessage([route([10, 0, 0, 0]), route([10, 0, 1, 0], length: 33)]) { message in
            results.append(snapshotReader.take(message))
        }
        #expect(results == [.applied, .malformed])
        #expect(snapshotReader.snapshot.routeCount == 1)
    }

    @Test func `a template whose attributes were dropped is not used`() {
        var gone = route([10, 0, 0, 0])
        gone[4] = 25
        let messages = [
            route([10, 0, 0, 0]), gone, route([10, 0, 1, 0], gateway: 9), route([10, 0, 2, 0]),
        ]
        let routes = routes(messages)
        #expect(routes.quick == routes.whole)
        #expect(Set(routes.quick.map(\.nexthops)).count == 2)
    }
}
