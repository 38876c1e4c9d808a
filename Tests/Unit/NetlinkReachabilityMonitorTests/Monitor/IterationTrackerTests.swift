// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import NetlinkReachability

struct IterationTrackerTests {
    private let work = InFlightCounter()

    /// The iteration counted as waiting while it went on with the second element.
    @Test func `an iteration that keeps all elements waits once it has read each`() throws {
        let tracker = try #require(IterationTracker(work, keepsAll: true))
        for _ in 0..<2 { tracker.willOffer() }
        for _ in 0..<2 {
            tracker.willWait()
            #expect(work.newLoopCount == 1)
            tracker.didWait()
        }
        tracker.willWait()
        #expect(work.newLoopCount == 0)
    }

    @Test func `an iteration that keeps the newest element waits once it has read that`() throws {
        let tracker = try #require(IterationTracker(work, keepsAll: false))
        for _ in 0..<2 { tracker.willOffer() }
        tracker.willWait()
        #expect(work.newLoopCount == 1)
        tracker.didWait()
        tracker.willWait()
        #expect(work.newLoopCount == 0)
    }

    @Test func `an iteration is in flight from an element until it waits again`() throws {
        let tracker = try #require(IterationTracker(work, keepsAll: true))
        tracker.willWait()
        #expect(work.begunWhenQuiet == 0)
        tracker.willOffer()
        #expect(work.begunWhenQuiet == nil)
        tracker.didWait()
        tracker.willWait()
        #expect(work.begunWhenQuiet == 1)
    }
}
