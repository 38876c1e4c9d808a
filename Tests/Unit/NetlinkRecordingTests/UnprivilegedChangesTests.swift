// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

@testable import NetlinkReachability
@testable import NetlinkRecording

/// What a recorder writes of neighbours and of what routers announce.
struct UnprivilegedChangesTests {
    private static let start = ContinuousClock.now
    private static let (failed, reachable, stale): (UInt16, UInt16, UInt16) = (0x20, 0x02, 0x04)

    /// RTM_NEWNEIGH of fe80::N on the interface 2, or of 192.0.2.N.
    private static func neighbour(_ number: UInt8, _ state: UInt16, isIPv4: Bool = false) -> [UInt8] {
        let address: [UInt8] = isIPv4 ? [192, 0, 2, number] : linkLocal(number)
        var payload: [UInt8] = [isIPv4 ? 2 : 10, 0, 0, 0] + UInt32(2).hostBytes + state.hostBytes + [0, 1]
        payload += UInt16(4 + address.count).hostBytes + UInt16(1).hostBytes + address
        return SampleMessage.bytes(type: 28, payload: payload)
    }

    private static func linkLocal(_ number: UInt8) -> [UInt8] {
        [0xfe, 0x80] + Array(repeating: 0, count: 13) + [number]
    }

    /// RTM_NEWROUTE of ::/0 or 2001:db8:N::/48 by way of fe80::N, or of 0.0.0.0/0 by way of 192.0.2.N.
    private static func route(
        _ number: UInt8, origin: UInt8 = 3, isIPv4: Bool = false, isDefault: Bool = true
    ) -> [UInt8] {
        let gateway: [UInt8] = isIPv4 ? [192, 0, 2, number] : linkLocal(number)
        var payload: [UInt8] = [isIPv4 ? 2 : 10, isDefault ? 0 : 48, 0, 0, 254, origin, 0, 1, 0, 0, 0, 0]
        if !isDefault {
            payload += UInt16(20).hostBytes + UInt16(1).hostBytes + [0x20, 0x01, 0x0d, 0xb8, 0, number]
            payload += Array(repeating: 0, count: 10)
        }
        payload += UInt16(4 + gateway.count).hostBytes + UInt16(5).hostBytes + gateway
        payload += UInt16(8).hostBytes + UInt16(4).hostBytes + UInt32(2).hostBytes
        return SampleMessage.bytes(type: 24, payload: payload)
    }

    /// RTM_NEWADDR of 2001:db8::N/64 with a lifetime in seconds.
    private static func address(_ number: UInt8, lifetime: UInt32, flags: UInt8 = 0) -> [UInt8] {
        var payload: [UInt8] = [10, 64, flags, 0] + UInt32(2).hostBytes
        payload += UInt16(20).hostBytes + UInt16(1).hostBytes + [0x20, 0x01, 0x0d, 0xb8]
        payload += Array(repeating: 0, count: 11) + [number]
        payload += UInt16(20).hostBytes + UInt16(6).hostBytes + lifetime.hostBytes + lifetime.hostBytes
        payload += Array(repeating: 0, count: 8)
        return SampleMessage.bytes(type: 20, payload: payload)
    }

    /// The messages that are written of some notifications.
    private static func written(
        _ messages: [[UInt8]], by changes: inout UnprivilegedChanges, at now: ContinuousClock.Instant = start
    ) throws -> [SeenEntry] {
        var bytes: [UInt8] = []
        for message in messages {
            try message.withUnsafeBytes {
                changes.append(try #require(NetlinkMessage($0)), to: &bytes, at: now)
            }
        }
        return readRecording(bytes).entries
    }

    private static func written(_ messages: [UInt8]...) throws -> [[UInt8]] {
        var changes = UnprivilegedChanges()
        return try written(messages, by: &changes).map(\.bytes)
    }

    @Test func `a neighbour that is no gateway is left out`() throws {
        let route = Self.route(1)
        #expect(
            try Self.written(route, Self.neighbour(2, Self.failed), Self.neighbour(2, Self.reachable)) == [
                route
            ])
    }

    @Test func `a gateway is written when it stops to answer, and when it answers again`() throws {
        let (route, lost, found) = (
            Self.route(1), Self.neighbour(1, Self.failed), Self.neighbour(1, Self.reachable)
        )
        #expect(
            try Self.written(route, lost, lost, found, Self.neighbour(1, Self.stale), found) == [
                route, lost, found,
            ])
    }

    @Test func `the state of a gateway comes ahead of the first route with it`() throws {
        let (route, lost) = (Self.route(1), Self.neighbour(1, Self.failed))
        #expect(try Self.written(lost, Self.neighbour(2, Self.failed), route) == [lost, route])
    }

    @Test func `IPv4 gateways are written where there are several default routes`() throws {
        let (first, second) = (Self.route(1, isIPv4: true), Self.route(2, isIPv4: true))
        let lost = Self.neighbour(1, Self.failed, isIPv4: true)
        #expect(try Self.written(first, lost) == [first])
        #expect(try Self.written(first, lost, second) == [first, lost, second])
    }

    @Test func `a lifetime of an address that is prolonged is left out, and a change of its flags is not`()
        throws
    {
        let (new, deprecated) = (Self.address(1, lifetime: 600), Self.address(1, lifetime: 600, flags: 0x20))
        #expect(
            try Self.written(new, Self.address(1, lifetime: 900), deprecated, deprecated) == [
                new, deprecated,
            ])
    }

    // A link peer that announces prefixes without end pushed out a recording of months within minutes.
    @Test func `what routers announce beyond its budget is stated once, and other changes are written`()
        throws
    {
        var changes = UnprivilegedChanges(limit: 64 * 1_000, at: Self.start)
        changes.dumpBegins()
        var ignored: [UInt8] = []
        changes.dumpEnded([], to: &ignored)
        let flood = (0..<100).map { Self.route(UInt8($0), origin: 9, isDefault: false) }
        let entries = try Self.written(flood, by: &changes)
        #expect(entries.filter { $0.annotation == nil }.reduce(0) { $0 + $1.bytes.count + 24 } <= 1_000)
        #expect(
            entries.compactMap(\.annotation) == [
                .changingTables([.init(.addresses, family: .v6), .init(.routes, family: .v6)])
            ])
        let own = Self.route(7)
        #expect(try Self.written([flood[0], own], by: &changes).map(\.bytes) == [own])
        let due = try #require(changes.dumpDue)
        #expect(due > Self.start)
        changes.dumpBegins()
        #expect(changes.dumpDue == nil)
        #expect(
            try Self.written([flood[0]], by: &changes, at: due + .seconds(86_400)).map(\.bytes) == [flood[0]])
    }

    @Test func `neighbours have a budget of their own`() throws {
        var changes = UnprivilegedChanges(limit: 64 * 1_000, at: Self.start)
        let route = Self.route(1, origin: 9)
        let flips = (0..<100).map { Self.neighbour(1, $0 % 2 == 0 ? Self.failed : Self.reachable) }
        let entries = try Self.written([route] + flips, by: &changes)
        #expect(
            entries.compactMap(\.annotation) == [
                .changingTables([.init(.neighbours, family: .v4), .init(.neighbours, family: .v6)])
            ])
        #expect(try Self.written([route], by: &changes).map(\.bytes) == [route])
    }

    // A router that announces lifetimes of a second made a dump each second.
    @Test func `dumps for lifetimes have a budget, and one follows when there is room`() throws {
        var changes = UnprivilegedChanges(limit: 8 * 10_000, at: Self.start)
        var table = RecordedTable(.rules, .v4)
        table.messages = Array(repeating: 0, count: 4_000)
        var bytes: [UInt8] = []
        changes.dumpEnded([table], to: &bytes)
        #expect(
            changes.chargeDump(to: &bytes, at: Self.start) && changes.chargeDump(to: &bytes, at: Self.start))
        #expect(bytes.isEmpty && changes.dumpDue == nil)
        #expect(
            !changes.chargeDump(to: &bytes, at: Self.start) && !changes.chargeDump(to: &bytes, at: Self.start)
        )
        let stated = readRecording(bytes).entries.map(\.annotation)
        #expect(stated == [.changingTables([.init(.routes, family: .v6)])])
        #expect(changes.dumpDue.map { $0 > Self.start + .seconds(3_600) } == true)
    }

    @Test func `evidence beyond its budget is left out, which is stated once`() {
        var changes = UnprivilegedChanges(limit: 64 * 400, at: Self.start)
        var bytes: [UInt8] = []
        for _ in 0..<9 { changes.append(NetworkEvidence(), to: &bytes, at: Self.start) }
        let stated = readRecording(bytes).entries.map(\.annotation)
        #expect(stated == Array(repeating: .evidence(NetworkEvidence()), count: 3) + [.evidence(nil)])
        #expect(changes.dumpDue.map { $0 > Self.start } == true)
    }

    @Test func `a recording without a limit has no budget`() throws {
        var changes = UnprivilegedChanges()
        let flood = (0..<1_000).map { Self.route(UInt8($0 % 256), origin: 9, isDefault: false) }
        #expect(try Self.written(flood, by: &changes).map(\.bytes) == flood)
        #expect(changes.dumpDue == nil)
    }

    @Test func `after lost notifications a dump has the gateways that changed, and those that are gone`()
        throws
    {
        var changes = UnprivilegedChanges()
        _ = try Self.written(
            [
                Self.route(1), Self.route(2), Self.neighbour(1, Self.failed),
                Self.neighbour(2, Self.reachable),
                Self.neighbour(2, Self.failed),
            ], by: &changes)
        var dump = RecordedTable(.neighbours, .v6)
        dump.messages = Self.neighbour(1, Self.reachable) + Self.neighbour(3, Self.failed)
        var bytes: [UInt8] = []
        changes.neighboursDumped([dump], to: &bytes)
        var seen: [NetworkChange?] = []
        var table = RecordedTable(.neighbours, .v6)
        table.messages = bytes
        table.forEachMessage { seen.append($0.change) }
        func key(_ number: UInt8) throws -> Neighbour.Key {
            Neighbour.Key(
                interfaceIndex: 2, address: try #require(IPAddress(bytes: Self.linkLocal(number))))
        }
        #expect(
            seen == [
                .neighbour(Neighbour(interfaceIndex: 2, address: try key(1).address, state: .reachable)),
                .removedNeighbour(try key(2)),
            ])
    }

    // MARK: - Reading

    @Test func `tables whose changes are left out are not decided until the next dump`() throws {
        let lost = RecordingAnnotation.Table(.routes, family: .v6)
        var replay = RecordingReplay()
        func take(_ annotation: RecordingAnnotation) {
            replay.apply(RecordingEntry(path: "", offset: 0, time: nil, content: .annotation(annotation)))
        }
        func blocker(_ family: IPAddress.Family) -> String? { replay.state.coverage.blocker(for: family) }
        for annotation in [RecordingAnnotation.dumpBegins, .dumpEnds] { take(annotation) }
        take(.changingTables([lost]))
        #expect(blocker(.v6) != nil && blocker(.v4) == nil)
        take(.changingTables(IPAddress.Family.allCases.map { .init(.neighbours, family: $0) }))
        #expect(replay.snapshot.neighbours == nil)
        for annotation in [RecordingAnnotation.dumpBegins, .dumpEnds] { take(annotation) }
        #expect(blocker(.v6) == nil && replay.snapshot.neighbours != nil)
    }
}
