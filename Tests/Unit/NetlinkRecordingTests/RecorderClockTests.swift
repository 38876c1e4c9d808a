// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import SystemSupport
import TestSupport
import Testing

@testable import NetlinkRecording

/// A recorder whose host's clock is set while it runs.
@Suite(.needsNetwork)
struct RecorderClockTests {
    private static let boot: UInt128 = 1 << 64 | 2

    @Test func `stamps keep the stated offset until the clock is followed`() {
        let host = HostClock()
        var clock = RecorderClock { host.read() }
        host.set(-3_600_000_000)
        #expect(clock.reading.offset == 0)
        let follows = [clock.follow(), clock.follow()]
        #expect(follows == [true, false] && clock.reading.offset == -3_600_000_000)
    }

    @Test func `a difference below a millisecond is not a clock that was set`() {
        let host = HostClock()
        var clock = RecorderClock { host.read() }
        host.set(999)
        let follows = clock.follow()
        #expect(!follows)
    }

    @Test func `the clocks of this host advance, and belong to one start`() {
        let (first, second) = (ClockReading.now, ClockReading.now)
        #expect(first.boot == second.boot && first.sinceBoot <= second.sinceBoot)
        #expect(abs(first.offset - second.offset) < 1_000_000_000)
    }

    @Test func `a quiet recorder states a clock when it is set`() throws {
        try LiveNetwork().run {
            let host = HostClock()
            let folder = try TemporaryFolder()
            var ends: [Int32] = [-1, -1]
            var wakes: [Int32] = [-1, -1]
            try #require(pipe(&ends) == 0 && pipe(&wakes) == 0)
            defer { for end in ends + [wakes[1]] { close(end) } }
            // The clock is set as soon as the recorder waits, and the recording ends after that.
            write(wakes[1], [1], 1)
            let stop = ends[1]
            let sleep = SleepWatch(descriptor: wakes[0]) {
                if host.readings > 0 { host.set(7_200_000_000) }
                if host.offset != 0 { write(stop, [1], 1) }
                return .zero
            }
            var recorder = try Recorder { host.read() }
            var rotation = try RecordingRotation(path: folder.path, limit: 1 << 20)
            _ = try recorder.record(into: &rotation, until: RecordingStop(descriptor: ends[0]), sleep: sleep)
            var stream = try RecordingStream(path: folder.path)
            var (offsets, isOver) = ([Int64](), false)
            while !isOver {
                isOver =
                    stream.next { entry in
                        if case .annotation(.clock(let reading)) = entry.content {
                            offsets.append(reading.offset)
                        }
                        return false
                    } ?? true
            }
            #expect(offsets == [0, 7_200_000_000])
        }
    }

    /// Clocks that a test sets.
    private final class HostClock: @unchecked Sendable {
        // Used by the recorder's thread only, which is the test's.
        private(set) var offset: Int64 = 0
        private(set) var readings = 0

        func set(_ offset: Int64) { self.offset = offset }

        func read() -> ClockReading {
            readings += 1
            let sinceBoot = ClockReading.now.sinceBoot
            return ClockReading(
                boot: RecorderClockTests.boot, sinceBoot: sinceBoot, sinceEpoch: sinceBoot + offset)
        }
    }
}
