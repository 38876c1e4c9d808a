// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import TestSupport
import Testing

@testable import NetlinkRecording
@testable import netflags

struct LedgerMonthTests {
    /// By how much the monitor notices a change later.
    private static let delay: Int64 = 300_000

    @Test(arguments: (0..<UInt64(Rounds.of(20))).map { $0 })
    func `a month of a ledger has each span once, and the counters are its sums`(seed: UInt64) throws {
        let month = try LedgerMonth(seed: seed, restartsHost: seed % 2 == 1)
        let cursorFile = try Scratch()
        let totalsFile = try Scratch()
        var random = SeededGenerator(seed: ~seed)
        var rows: [Timeline.Interval] = []
        var isEnded = false
        while !isEnded {
            for _ in 0..<Int.random(in: 1...30, using: &random) where !month.isOver { try month.step() }
            if month.isOver {
                try month.end()
                isEnded = true
            }
            let timeline = try Self.timeline(month.path)
            var cursor = try TimelineCursor(file: cursorFile.path)
            rows += cursor.advance(over: timeline.lanes[0])
            try cursor.write(to: cursorFile.path)
            var totals = try TimelineTotals(file: totalsFile.path)
            totals.add(timeline)
            try totals.write(to: totalsFile.path)
            month.keepFiles(4)
        }
        let (counts, spans) = (month.counts, month.spans)
        #expect(month.happenings.allSatisfy { counts[$0, default: 0] > 0 }, "\(counts)")
        let differences = (0..<max(rows.count, spans.count)).filter { place in
            guard place < rows.count, place < spans.count, rows[place].found == spans[place].state else {
                return true
            }
            let distance = rows[place].microseconds - spans[place].microseconds
            return spans[place].isMeasured && distance.magnitude > Self.delay
        }
        let first = differences.first ?? 0
        #expect(
            differences.isEmpty,
            """
            of \(rows.count) rows and \(spans.count) spans, row \(first) is
            \(rows.dropFirst(first).prefix(3).map { ($0.found, $0.microseconds, $0.reason) }), and the span
            \(spans.dropFirst(first).prefix(3))
            """)
        // The time that is not known is no loss.
        let totals = try #require(try TimelineTotals(file: totalsFile.path).lines[LedgerMonth.target]).sums
        let lost = spans.filter { $0.state == .unreachable }
        let edges = Int64(spans.count) * Self.delay
        #expect(totals.losses == lost.count)
        #expect((totals.unreachable - lost.reduce(0) { $0 + $1.microseconds }).magnitude <= edges)
        #expect(
            totals.unreachable == rows.filter { $0.isReachable == false }.reduce(0) { $0 + $1.microseconds })
        #expect(totals.recorded == rows.filter { $0.isReachable != nil }.reduce(0) { $0 + $1.microseconds })
        // How long the host was off is another time after its clock was set.
        if spans.allSatisfy(\.isMeasured) {
            let unknown = spans.filter { $0.state == .unrecorded }.reduce(0) { $0 + $1.microseconds }
            #expect((totals.unrecorded - unknown).magnitude <= edges)
        }
    }

    private static func timeline(_ path: String) throws -> Timeline {
        try Timeline(
            of: Recording(path: path), [(text: LedgerMonth.target, target: .host(LedgerMonth.target))],
            ReachabilityOptions(), onChangeOf: .flags)
    }
}

extension Timeline.Interval {
    fileprivate var microseconds: Int64 { end.microsecondsSince1970 - start.microsecondsSince1970 }

    fileprivate var found: LedgerMonth.Span.State? {
        switch state {
        case .reachable: .reachable
        case .unreachable: .unreachable
        case .unrecorded: .unrecorded
        case .silent, .needsConnection, .undetermined: nil
        }
    }
}
