// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import NetlinkReachability

struct IterationTrackerTests {
    private let work = InFlightCounter()

    @Test func `an iteration that keeps the newest element waits once it has read that`() throws {
        let tracker = try #require(IterationTracker(work))
        for _ in 0..<2 { tracker.willOffer() }
        tracker.willWait()
        #expect(work.newLoopCount == 1)
        tracker.didWait()
        tracker.willWait()
        #expect(work.newLoopCount == 0)
    }

    @Test func `an iteration is in flight from an element until it waits again`() throws {
        let tracker = try #require(IterationTracker(work))
        tracker.willWait()
        #expect(work.begunWhenQuiet == 0)
        tracker.willOffer()
        #expect(work.begunWhenQuiet == nil)
        tracker.didWait()
        tracker.willWait()
        #expect(work.begunWhenQuiet == 1)
    }
}
