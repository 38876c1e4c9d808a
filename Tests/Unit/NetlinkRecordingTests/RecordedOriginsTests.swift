// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import NamespaceTraits
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkRecording

/// What a recording says of who made the newest changes, held against the processes that made them.
@Suite(.needsNetwork)
struct RecordedOriginsTests {
    private typealias Origin = Recording.Event.Origin

    private static let start = Recording.Time(microsecondsSince1970: 0)

    /// A recording in memory, whose changes processes make one after the other.
    private struct Story: ~Copyable {
        var recorder: Recorder
        var bytes: [UInt8]
        let network: IPPrefix = "198.51.100.0/24"

        init() throws {
            var recorder = try Recorder()
            try ShellCommand.check(
                """
                ip link add v0 type veth peer name v1; ip link set v1 up; ip link set v0 up
                ip addr add 192.0.2.2/24 dev v0; ip route add 198.51.100.0/24 via 192.0.2.1
                """)
            try ShellCommand.check(settleScript)
            bytes = try recorder.takeSnapshot().bytes
            self.recorder = recorder
        }

        mutating func dump() throws { bytes += try recorder.takeSnapshot().bytes }

        /// Makes a change; returns the process that did.
        mutating func make(_ command: String) throws -> UInt32 {
            let (status, output) = ShellCommand.run("echo $$; exec ip \(command)")
            try #require(status == 0, "\(command): \(output)")
            while try recorder.readEvents() != .empty {}
            bytes += recorder.drainPending()
            return try #require(output.split(separator: "\n").first.flatMap { UInt32($0) })
        }

        func routing(notingOrigins: Bool = true) throws -> RecordedRouting {
            try RecordedRouting(RecordingStream(bytes: bytes), notingOrigins: notingOrigins)
        }

        /// The route to a network, as the recording has it now.
        func route() throws -> Route {
            let routes = try routing().routing.snapshot.routes(to: network, table: Route.mainTable)
            return try #require(routes.first)
        }

        /// The process that asked for the newest change; `nil` if the recording does not say.
        func process(_ change: NetworkChange, after start: Recording.Time = start) throws -> UInt32? {
            let origins = try #require(try routing().origins)
            return origins.origin(of: change, after: start)?.port?.number
        }
    }

    @Test func `the newest change of a route is that of the process that asked for it`() throws {
        try LiveNetwork().run {
            var story = try Story()
            let route = try story.route()
            for round in 0..<4 {
                let removal = try story.make("route del 198.51.100.0/24")
                #expect(try story.process(.removedRoute(route)) == removal, "round \(round)")
                #expect(try story.process(.route(route, .last)) == nil)
                let addition = try story.make("route add 198.51.100.0/24 via 192.0.2.1")
                #expect(try story.process(.route(route, .last)) == addition, "round \(round)")
                #expect(try story.process(.removedRoute(route)) == nil)
            }
            let end = try #require(try story.routing().time)
            #expect(try story.process(.route(route, .last), after: end) == nil)
            #expect(try story.routing(notingOrigins: false).origins == nil)
        }
    }

    @Test func `addresses, rules and nexthop objects have their processes`() throws {
        try LiveNetwork().run {
            var story = try Story()
            let address = try #require(
                try story.routing().routing.snapshot.addresses.first { $0.address == IPAddress(192, 0, 2, 2) }
            )
            let nexthop = try story.make("nexthop add id 9 via 192.0.2.5 dev v0")
            let rule = try story.make("rule add from 10.1.0.0/16 lookup 100 pref 77")
            let rules = try story.routing().routing.snapshot.rules
            let added = try #require(rules.first { $0.priority == 77 })
            let removal = try story.make("addr del 192.0.2.2/24 dev v0")
            #expect(try story.process(.nexthop(NexthopObject(id: 9, kind: .blackhole))) == nexthop)
            #expect(try story.process(.rule(added)) == rule)
            #expect(try story.process(.removedAddress(address)) == removal)
        }
    }

    @Test func `a route that went without a notification has nothing`() throws {
        try LiveNetwork().run {
            var story = try Story()
            _ = try story.make("route del 198.51.100.0/24")
            _ = try story.make("route add 198.51.100.0/24 via 192.0.2.1")
            let route = try story.route()
            _ = try story.make("link set v0 down")
            try story.dump()
            #expect(
                try story.routing().routing.snapshot.routes(to: story.network, table: Route.mainTable).isEmpty
            )
            #expect(try story.process(.removedRoute(route)) == nil)
        }
    }

    /// What is seen after it can have been made by another process.
    @Test func `a gap in the recording clears what was known`() throws {
        try LiveNetwork().run {
            var story = try Story()
            let route = try story.route()
            let removal = try story.make("route del 198.51.100.0/24")
            try story.dump()
            #expect(try story.process(.removedRoute(route)) == removal)
            story.bytes.append(.overrun)
            try story.dump()
            #expect(try story.process(.removedRoute(route)) == nil)
        }
    }
}
