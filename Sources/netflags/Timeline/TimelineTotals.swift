// SPDX-License-Identifier: Apache-2.0

import NetlinkRecording

/// The counters of each target and of the recording, over all readings of the recording.
typealias TimelineTotals = CursorFile<TimelineTotal>

/// The times and losses of a lane, which later readings continue.
///
/// A span counts for good once it has ended, as it is a row of a ledger then: so no counter goes back where the oldest
/// file of a recording is deleted. The one that goes on is counted anew by each reading, as the time after the last
/// entry is not recorded where the recorder is killed or stalls. In a file these are the words of a
/// ``TimelinePosition``, then the ``Sums`` of the spans that have ended, and the five counters as they were printed.
struct TimelineTotal: CursorLine {
    /// The sums over spans.
    ///
    /// In a file these are the microseconds in which packets could not leave, those that are not recorded, those in
    /// which the answer is known, those in which nothing answered, the number of losses, whether one goes on (0 or 1),
    /// and the start of the last one and the end of the last one that has ended, in microseconds since 1970 or `-`.
    struct Sums: Hashable {
        static let wordCount = 8

        /// The time in which packets could not leave, in microseconds.
        fileprivate(set) var unreachable: Int64 = 0
        /// The time that is not recorded, in microseconds.
        fileprivate(set) var unrecorded: Int64 = 0
        /// The time in which it is known whether packets could leave, in microseconds.
        fileprivate(set) var recorded: Int64 = 0
        /// The time in which packets could leave and nothing answered, in microseconds.
        fileprivate(set) var silent: Int64 = 0
        /// How often packets could not leave any more; a loss that is not recorded for a time counts again.
        fileprivate(set) var losses: Int64 = 0
        private var isLost = false
        private(set) var lossStart: Int64?
        private(set) var lossEnd: Int64?

        init() {}

        fileprivate init?(_ numbers: some Sequence<Int64?>) {
            let numbers = Array(numbers)
            for (counter, number) in zip(Self.all, numbers) {
                guard let number else { return nil }
                self[keyPath: counter] = number
            }
            (isLost, lossStart, lossEnd) = (numbers[5] == 1, numbers[6], numbers[7])
        }

        fileprivate var words: [String] {
            counters.map { "\($0)" } + [isLost ? "1" : "0"]
                + [lossStart, lossEnd].map { $0.map(String.init) ?? "-" }
        }

        /// What never decreases.
        var counters: [Int64] { Self.all.map { self[keyPath: $0] } }

        private static var all: [WritableKeyPath<Sums, Int64>] {
            [\.unreachable, \.unrecorded, \.recorded, \.silent, \.losses]
        }

        mutating func add(_ interval: Timeline.Interval) {
            let (start, end) = (interval.start.microsecondsSince1970, interval.end.microsecondsSince1970)
            if interval.state == .unrecorded { unrecorded += end - start }
            if interval.isReachable != nil { recorded += end - start }
            if interval.state == .silent { silent += end - start }
            let isLoss = interval.isReachable == false
            if isLoss { unreachable += end - start }
            if isLoss, !isLost { (losses, lossStart) = (losses + 1, start) }
            if !isLoss, isLost { lossEnd = start }
            isLost = isLoss
        }

        /// Raises the counters that are lower than the given values.
        fileprivate mutating func raise(to counters: [Int64]) {
            for (counter, value) in zip(Self.all, counters) {
                self[keyPath: counter] = max(self[keyPath: counter], value)
            }
        }
    }

    static var head: String { "netflags-timeline-totals 4" }
    static var wordCount: Int { TimelinePosition.wordCount + Sums.wordCount + 5 }

    /// The end of the last span that has been counted permanently; `nil` before the first span.
    private var position: TimelinePosition?
    /// The sums of the spans up to the position.
    private var ended = Sums()
    /// The printed sums, including the current span.
    ///
    /// No counter is lower than its last printed value.
    private(set) var sums = Sums()

    init() {}

    init?(words: [String]) {
        let numbers = words.dropFirst(TimelinePosition.wordCount).map { Int64($0) }
        let printed = numbers.dropFirst(Sums.wordCount).compactMap(\.self)
        guard let position = TimelinePosition(words: Array(words.prefix(TimelinePosition.wordCount))),
            let ended = Sums(numbers.prefix(Sums.wordCount)), printed.count == 5,
            numbers.allSatisfy({ ($0 ?? 0).magnitude < 1 << 60 })
        else { return nil }
        (self.position, self.ended, sums) = (position, ended, ended)
        sums.raise(to: printed)
    }

    var words: [String] {
        (position?.words ?? ["0", "0", "-"]) + ended.words + sums.counters.map { "\($0)" }
    }

    /// Adds the intervals of a lane after the position.
    mutating func add(_ lane: Timeline.Lane) {
        for interval in lane.ended(since: &position) { ended.add(interval) }
        var news = TimelineNews(since: position, boots: lane.boots)
        let printed = sums.counters
        sums = ended
        for interval in lane.intervals.flatMap({ news.read($0) }) + news.finish() { sums.add(interval) }
        sums.raise(to: printed)
    }
}

// MARK: - Metrics

extension TimelineTotals {
    /// The key for the recording itself: no target has this name.
    private static let recording = "-"

    /// Adds the intervals of a timeline that have not been counted.
    mutating func add(_ timeline: Timeline) {
        for lane in timeline.lanes { lines[lane.target, default: TimelineTotal()].add(lane) }
        // Unrecorded time is the same for each target.
        if let first = timeline.lanes.first { lines[Self.recording, default: TimelineTotal()].add(first) }
    }

    /// Writes the metrics of the targets of a timeline, and of its recording.
    func write(_ timeline: Timeline, to buffer: inout ByteBuffer) {
        var metrics = MetricsText()
        var targets: Set<String> = []
        for lane in timeline.lanes where targets.insert(lane.target).inserted {
            let (total, labels) = ((lines[lane.target] ?? TimelineTotal()).sums, [("target", lane.target)])
            metrics.add(
                "netflags_unreachable_seconds_total", "The recorded time in which packets could not leave.",
                labels, MetricsText.seconds(total.unreachable), .counter)
            metrics.add(
                "netflags_recorded_seconds_total",
                "The recorded time in which it is known whether packets could leave.", labels,
                MetricsText.seconds(total.recorded), .counter)
            metrics.add(
                "netflags_silent_seconds_total",
                "The recorded time in which packets could leave and nothing answered.", labels,
                lane.hasEvidence || total.silent > 0 ? MetricsText.seconds(total.silent) : nil, .counter)
            metrics.add(
                "netflags_losses_total", "How often packets could not leave any more.", labels,
                "\(total.losses)", .counter)
            metrics.add(
                "netflags_last_loss_start_timestamp_seconds",
                "When packets could not leave any more the last time.", labels,
                total.lossStart.map(MetricsText.seconds))
            metrics.add(
                "netflags_last_loss_end_timestamp_seconds",
                "The end of the last loss that is over: before the start of the last one while that goes on.",
                labels, total.lossEnd.map(MetricsText.seconds))
        }
        metrics.add(
            "netflags_recording_active", "Whether a recorder writes to the recording.", [],
            timeline.isBeingWritten ? "1" : "0")
        metrics.add(
            "netflags_recording_last_entry_timestamp_seconds",
            "The time of the last entry of the recording, which is quiet while nothing changes.", [],
            timeline.lastEntry.map { MetricsText.seconds($0.microsecondsSince1970) })
        metrics.add(
            "netflags_recording_gap_seconds_total", "The time that is not recorded, once it is over.", [],
            MetricsText.seconds(lines[Self.recording]?.sums.unrecorded ?? 0), .counter)
        metrics.write(to: &buffer)
    }
}
