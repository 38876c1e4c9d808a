// SPDX-License-Identifier: Apache-2.0

import NetlinkRecording

/// The counters of each target, and of the recording, over all readings of it.
typealias TimelineTotals = CursorFile<TimelineTotal>

/// The times and losses of a lane up to an instant, which later readings continue.
///
/// Each reading adds what comes after that instant, so that no counter goes back where the oldest file of a recording
/// is deleted. In a file these are the words of a ``TimelinePosition``, then the microseconds in which packets could
/// not leave, those that are not recorded, the number of losses, whether one goes on (0 or 1), and the begin of the
/// last one and the end of the last one that has ended, in microseconds since 1970 or `-`.
struct TimelineTotal: CursorLine {
    static var head: String { "netflags-timeline-totals 1" }
    static var wordCount: Int { TimelinePosition.wordCount + 6 }

    /// Up to when the times are counted; `nil` before the first.
    private var position: TimelinePosition?
    /// The time in which packets could not leave, in microseconds.
    private(set) var unreachable: Int64 = 0
    /// The time that is not recorded, in microseconds.
    private(set) var unrecorded: Int64 = 0
    /// How often packets could not leave any more; a loss that is not recorded for a time counts again.
    private(set) var losses: Int64 = 0
    private var isLost = false
    private(set) var lossStart: Int64?
    private(set) var lossEnd: Int64?

    init() {}

    init?(words: [String]) {
        let numbers = words.dropFirst(TimelinePosition.wordCount).map { Int64($0) }
        guard let position = TimelinePosition(words: Array(words.prefix(TimelinePosition.wordCount))),
            let unreachable = numbers[0], let unrecorded = numbers[1], let losses = numbers[2],
            numbers.allSatisfy({ ($0 ?? 0).magnitude < 1 << 60 })
        else { return nil }
        self.position = position
        (self.unreachable, self.unrecorded, self.losses) = (unreachable, unrecorded, losses)
        (isLost, lossStart, lossEnd) = (numbers[3] == 1, numbers[4], numbers[5])
    }

    var words: [String] {
        (position?.words ?? ["0", "0", "-"]) + [
            "\(unreachable)", "\(unrecorded)", "\(losses)", isLost ? "1" : "0",
        ]
            + [lossStart, lossEnd].map { $0.map(String.init) ?? "-" }
    }

    /// Adds what a lane has after the instant.
    mutating func add(_ lane: Timeline.Lane) {
        guard let last = lane.intervals.last else { return }
        let known = position.flatMap { $0.time(among: lane.boots) } ?? .min
        for interval in lane.intervals where interval.end.microsecondsSince1970 > known {
            let (start, end) = (interval.start.microsecondsSince1970, interval.end.microsecondsSince1970)
            let time = end - max(start, known)
            if interval.state == .unrecorded { unrecorded += time }
            let isLoss = interval.isReachable == false
            if isLoss { unreachable += time }
            if isLoss, !isLost { (losses, lossStart) = (losses + 1, max(start, known)) }
            if !isLoss, isLost { lossEnd = max(start, known) }
            isLost = isLoss
        }
        if last.end.microsecondsSince1970 > known {
            let boots = lane.intervals.reversed().lazy.compactMap { $0.boot ?? $0.nextBoot }
            position = TimelinePosition(last.end, of: boots.first)
        }
    }
}

// MARK: - Metrics

extension TimelineTotals {
    /// The key for the recording itself: no target has this name.
    private static let recording = "-"

    /// Adds what a timeline has after what is counted.
    mutating func add(_ timeline: Timeline) {
        for lane in timeline.lanes { lines[lane.target, default: TimelineTotal()].add(lane) }
        // What is not recorded is so for each target.
        if let first = timeline.lanes.first { lines[Self.recording, default: TimelineTotal()].add(first) }
    }

    /// Writes the metrics of the targets of a timeline, and of its recording.
    func write(_ timeline: Timeline, to buffer: inout ByteBuffer) {
        var metrics = MetricsText()
        var targets: Set<String> = []
        for target in timeline.lanes.map(\.target) where targets.insert(target).inserted {
            let (total, labels) = (lines[target] ?? TimelineTotal(), [("target", target)])
            metrics.add(
                "netflags_unreachable_seconds_total", "The recorded time in which packets could not leave.",
                labels, MetricsText.seconds(total.unreachable), .counter)
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
            MetricsText.seconds(lines[Self.recording]?.unrecorded ?? 0), .counter)
        metrics.write(to: &buffer)
    }
}
