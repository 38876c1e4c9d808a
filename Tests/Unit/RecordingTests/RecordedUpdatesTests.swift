// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import NetlinkReachability
import Testing

@testable import NetlinkRecording

/// The queries of an observation over recorded time.
struct RecordedUpdatesTests {
    /// A dummy interface is set up, loses its carrier, has it again, goes down and away.
    private let dummy = RecordedScenario(name: "01-dummy")
    private let folder: RecordingFolder
    private let recording: Recording
    private let peer: IPAddress = "198.51.100.7"

    init() throws {
        folder = try RecordingFolder()
        recording = try folder.file(try dummy.recording())
    }

    private func values<Value>(_ updates: NetworkUpdates<Value>) async throws -> [Value] {
        try await updates.reduce(into: []) { $0.append($1) }
    }

    @Test func `the flags of a target are those of the reports on it`() async throws {
        let flags = try await values(recording.updates(of: .flags(of: .address(peer))))
        let reports = try await values(recording.updates(of: .report(of: .address(peer))))
        #expect(flags.count > 2 && flags == reports.map(\.flags))
    }

    @Test func `the path of a socket is satisfied whenever its report is reachable`() async throws {
        var options = ReachabilityOptions()
        options.families = .v4
        let paths = try await values(recording.updates(of: .path(options: options)))
        let reports = try await values(recording.updates(of: .report(options: options)))
        #expect(paths.count > 1)
        var satisfied: [Bool] = []
        for isSatisfied in paths.map({ $0.status == .satisfied }) where satisfied.last != isSatisfied {
            satisfied.append(isSatisfied)
        }
        var reachable: [Bool] = []
        for report in reports where reachable.last != report.isReachable {
            reachable.append(report.isReachable)
        }
        #expect(satisfied == reachable)
    }

    @Test func `the status of a connection follows the recorded changes`() async throws {
        let connection = try NetworkConnection(
            transport: .tcp, local: "192.0.2.2", localPort: 40_000, remote: peer, remotePort: 443)
        let states = try await values(recording.updates(of: .status(of: connection))).map(\.state)
        #expect(states.contains(.viable) && states.last == .lost, "\(states)")
    }

    @Test func `many queries in one sequence have the values of each, in the order of time`() async throws {
        let queries = [ReachabilityTarget.address(peer), .defaultPath].map {
            NetworkQuery<ReachabilityFlags>.flags(of: $0)
        }
        let all = try await values(recording.updates(of: queries))
        for (index, query) in queries.enumerated() {
            let own = try await values(recording.updates(of: query))
            #expect(all.filter { $0.index == index }.map(\.value) == own)
        }
        #expect(Set(all.prefix(2).map(\.index)) == [0, 1])
    }

    @Test func `events are that the machine slept, and that notifications were lost`() async throws {
        let (dump, events) = try dummy.parts()
        let head = dump + events.prefix(5).joined() + [.suspended(milliseconds: 7_000)].recording
        let bytes = head + dump + [.overrun].recording + dump + events.joined()
        let updates = try folder.file(bytes, "slept.rtnl").updates(of: .events)
        #expect(try await values(updates) == [.slept(.seconds(7)), .notificationsLost])
    }

    @Test func `a failure is skipped, and no value comes twice, and it is a result of the results`()
        async throws
    {
        let (dump, events) = try dummy.parts()
        let tables = [RecordingAnnotation.Table(.routes, family: .v4)]
        let end = [RecordingAnnotation.dumpEnds].recording
        #expect(dump.suffix(end.count).elementsEqual(end))
        let changing = dump.dropLast(end.count) + [.changingTables(tables), .dumpEnds].recording
        let again = [RecordingAnnotation.overrun].recording
        let bytes = dump + again + changing + again + dump + events.joined()
        let updates = try folder.file(bytes, "failing.rtnl").updates(of: .flags(of: .address(peer)))
        let flags = try await values(updates)
        #expect(zip(flags, flags.dropFirst()).allSatisfy { $0 != $1 })
        var results = updates.results.makeAsyncIterator()
        #expect(try await results.next() == flags.first.map(Result.success))
        let failure = try await results.next()
        guard case .failure(let error) = failure else { return #expect(failure == nil) }
        #expect(error.code == .undecided)
        #expect(try await results.next() != nil)
        #expect(try await flags == values(recording.updates(of: .flags(of: .address(peer)))))
    }
}
