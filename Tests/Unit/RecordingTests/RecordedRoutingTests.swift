// SPDX-License-Identifier: Apache-2.0

import Glibc
internal import NetlinkReachability
import RoutingModel
import Testing

@testable import NetlinkRecording

/// Recordings as files, read whole, against the same dumps applied by hand.
struct RecordedRoutingTests {
    @Test(arguments: RecordedNetwork.all) func `a dump between annotations has every answer of its snapshot`(
        network: RecordedNetwork
    ) throws {
        let expected = try network.routing()
        let routing = try RecordedRouting(RecordingStream(bytes: network.markedRecording()), askingUser: 0)
        #expect(Differences(routing.routing.snapshot, expected.snapshot).lines == [])
        #expect(routing.routing.snapshot.neighbours == expected.snapshot.neighbours)
        #expect(routing.routing.cellularIndexes == expected.cellularIndexes)
        #expect(routing.routing.wirelessIndexes == expected.wirelessIndexes)
        for probe in try network.probes() {
            let query = try probe.query(in: expected.snapshot)
            #expect(RecordedAnswer(routing, query) == RecordedAnswer(expected, query), "\(probe.target)")
        }
    }

    @Test(arguments: RecordedNetwork.all)
    func `dumps without annotations have every answer that needs no neighbours`(network: RecordedNetwork)
        throws
    {
        let expected = SnapshotRouting(try network.snapshot(withNeighbours: false))
        let routing = try RecordedRouting(
            RecordingStream(bytes: try network.read("state.rtnl")), askingUser: 0)
        for probe in try network.probes() {
            let query = try probe.query(in: expected.snapshot)
            #expect(RecordedAnswer(routing, query) == RecordedAnswer(expected, query), "\(probe.target)")
        }
    }

    @Test func `a new dump replaces the one before`() throws {
        let networks = RecordedNetwork.all
        for (first, second) in zip(networks, networks.dropFirst()) {
            let bytes = try first.markedRecording() + second.markedRecording()
            let routing = try RecordedRouting(RecordingStream(bytes: bytes)).routing
            let expected = try second.routing()
            #expect(Differences(routing.snapshot, expected.snapshot).lines == [], "\(second.name)")
            #expect(routing.snapshot.neighbours == expected.snapshot.neighbours)
            #expect(routing.cellularIndexes == expected.cellularIndexes)
        }
    }

    @Test(arguments: RecordedNetwork.scenarios) func `notifications after the dump count, at their time`(
        scenario: RecordedScenario
    ) throws {
        let first = try #require(scenario.networks.first)
        let start = try first.meta().time
        let bytes = try first.markedRecording(at: start) + scenario.events(after: start)
        let routing = try RecordedRouting(RecordingStream(bytes: bytes), askingUser: 0).routing
        var expected = try first.snapshot()
        for event in try scenario.timedEvents() where event.time > start {
            expected.clock = Int64((event.time - start) * 100)
            expected.apply(event.change)
        }
        #expect(Differences(routing.snapshot, expected).lines == [])
        // Notifications without a change of the network move the clock too.
        #expect(routing.snapshot.clock >= expected.clock - 1)
    }

    @Test func `the default user is that of this process, as in the kernel`() throws {
        let network = try #require(RecordedNetwork.all.first)
        let routing = try RecordedRouting(RecordingStream(bytes: network.markedRecording()))
        #expect(routing.routing.snapshot.askingUser == getuid())
    }
}

/// An answer, or the error instead of one.
enum RecordedAnswer: Equatable {
    case answer(RouteAnswer)
    case error(ReachabilityError)

    init(_ source: some RoutingSource, _ query: RouteQuery) {
        do {
            self = .answer(try source.answer(to: query.forEntry))
        } catch {
            self = .error(error)
        }
    }

    /// Why it is undecided; `nil` when it is not.
    var undecided: String? {
        guard case .error(let error) = self, error.code == .undecided else { return nil }
        return error.message
    }
}

// MARK: - Making recordings

extension RecordedNetwork {
    /// The moment as `netflags record` would have written it.
    func markedRecording(at time: Double? = nil) throws -> [UInt8] {
        let routing = try routing()
        var bytes = [RecordingAnnotation.dumpBegins].recording
        if let time { bytes.appendTimeStamp(Recording.Time(time)) }
        bytes += try read("state.rtnl") + read("neigh.nl")
        bytes +=
            [
                RecordingAnnotation.wirelessInterfaces(routing.wirelessIndexes.sorted()),
                .cellularInterfaces(routing.cellularIndexes.sorted()), .dumpEnds,
            ].recording
        return bytes
    }
}

extension RecordedScenario {
    /// The notifications from a time on.
    func events(after start: Double) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var isLater = false
        forEachMessage(try events()) { message in
            if message.type == 15 {
                let seconds = message.bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self)
                let micros = message.bytes.loadUnaligned(fromByteOffset: 20, as: UInt32.self)
                isLater = Double(seconds) + Double(micros) / 1_000_000 > start
            }
            if isLater { bytes.appendPadded(message.bytes) }
        }
        return bytes
    }
}

extension Recording.Time {
    fileprivate init(_ time: Double) {
        self.init(
            seconds: UInt32(time), microseconds: UInt32((time - time.rounded(.down)) * 1_000_000))
    }
}

extension [RecordingAnnotation] {
    /// The annotations as they stand in a file.
    var recording: [UInt8] {
        reduce(into: []) { $0.appendMessage(type: 1, payload: $1.payload) }
    }
}
