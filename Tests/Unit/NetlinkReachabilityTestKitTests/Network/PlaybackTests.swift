// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Foundation
import NetlinkReachability
import NetlinkReachabilityTestKit
import NetlinkRecording
import Testing

/// A recording of a real kernel: a dummy interface is set up, loses its carrier, has it again, goes down and away.
final class PlaybackTests {
    private let path: String

    init() throws {
        let scenario = URL(filePath: #filePath).appending(path: "../../../RecordingTests/Fixtures/01-dummy")
            .standardized
        var bytes = Data()
        for file in ["01-created-down/state.rtnl", "01-created-down/neigh.nl", "events.rtmon"] {
            bytes += try Data(contentsOf: scenario.appending(path: file))
        }
        let url = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).rtnl")
        try bytes.write(to: url)
        path = url.path()
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    private func target(_ network: SimulatedNetwork) throws -> NetworkReachability {
        NetworkReachability(address: IPAddress(198, 51, 100, 7), source: network.source)
    }

    @Test func `both paces of a recording, and a replay, report the same flags`() async throws {
        let byHand = try SimulatedNetwork(playing: path, pace: .manual)
        let handle = try target(byHand)
        let log = try handle.log()
        try await byHand.settle()
        let count = byHand.remainingStepCount
        #expect(count > 10)
        while byHand.playNextStep() { try await byHand.advance(by: .seconds(1)) }
        #expect(byHand.remainingStepCount == 0)

        let byClock = try SimulatedNetwork(playing: path)
        let clockHandle = try target(byClock)
        let clockLog = try clockHandle.log()
        try await byClock.settle()
        #expect(byClock.remainingStepCount == count)
        while byClock.remainingStepCount > 0 { try await byClock.advance(by: .seconds(1)) }
        try await byClock.advance(by: .seconds(1))
        let received = log.take()
        #expect(
            received.contains("-R -------") && received.first == "-- -------" && received.last == "-- -------"
        )
        #expect(clockLog.take() == received)

        var replay = try Recording(path: path).replay(of: [.report(of: .host("198.51.100.7"))])
        var replayed: [String] = []
        while case .change(let change) = try replay.next() {
            replayed.append(try change.result.get().flags.letters)
        }
        #expect(replayed == received)
        #expect(byClock.clock.now.offset > .seconds(1))
    }

    @Test(.timeLimit(.minutes(10))) func `one function reads a recording and a network that plays it`()
        async throws
    {
        func letters(
            _ reports: some AsyncSequence<ReachabilityReport, ReachabilityError>,
            count: Int
        ) async throws -> [String] {
            var letters: [String] = []
            for try await report in reports {
                letters.append(report.flags.letters)
                if letters.count == count { break }
            }
            return letters
        }
        let recorded = try await letters(
            Recording(path: path).updates(of: .report(of: .address("198.51.100.7"))), count: .max)
        #expect(recorded.count > 2 && recorded.contains("-R -------"))
        let network = try SimulatedNetwork(playing: path)
        let handle = try target(network)
        let updates = handle.source.updates(of: handle.reportQuery())
        let live = Task { try await letters(updates, count: recorded.count) }
        try await network.settle { network.listenerCount == 1 }
        while network.remainingStepCount > 0 { try await network.advance(by: .seconds(1)) }
        try await network.advance(by: .seconds(1))
        #expect(try await live.value == recorded)
    }

    @Test func `a recording that cannot be read, and a name, fail the sequence once`() async throws {
        let sequences = [
            (
                Recording(path: "/nonexistent").updates(of: .report()),
                ReachabilityError.Code.unreadableRecording
            ),
            (Recording(path: path).updates(of: .report(of: try .host("example.com"))), .invalidHost),
        ]
        for (updates, code) in sequences {
            var iterator = updates.makeAsyncIterator()
            let error = await #expect(throws: ReachabilityError.self) { try await iterator.next() }
            #expect(error?.code == code)
            #expect(try await iterator.next() == nil)
        }
    }

    @Test func `a played recording ends in the state of the whole recording`() async throws {
        let network = try SimulatedNetwork(playing: path, pace: .manual)
        while network.playNextStep() {}
        let source = try NetworkSource.recording(path: path)
        for text in ["127.0.0.1", "198.51.100.7", "10.0.0.1", "::1", "2001:db8::1"] {
            let target = try ReachabilityTarget.host(text)
            #expect(
                try await NetworkReachability(target: target, source: network.source).report()
                    == NetworkReachability(target: target, source: source).blockingReport()
            )
        }
    }

    @Test func `a recording shows its interfaces and cannot be changed`() async throws {
        let network = try SimulatedNetwork(playing: path, pace: .manual)
        #expect(network.host.interfaces.count > 1)
        let error = #expect(throws: SimulationError.self) {
            try network.change { try $0.setCarrier("lo", isPresent: false) }
        }
        #expect(error?.code == .recordedNetwork)
        network.change { $0.names["example.com"] = .addresses("127.0.0.1") }
        let named = try NetworkReachability(host: "example.com", source: network.source)
        #expect(try await named.flags().letters == "-R -----ld")
        network.apply(.wifi)
        #expect(network.remainingStepCount == 0)
        #expect(try await target(network).flags() == .reachable)
    }

    @Test func `a file that is not a recording is an error`() {
        let error = #expect(throws: SimulationError.self) { try SimulatedNetwork(playing: #filePath) }
        #expect(error?.code == .unreadableRecording)
    }
}
