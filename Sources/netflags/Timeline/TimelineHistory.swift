// SPDX-License-Identifier: Apache-2.0

import NetlinkRecording

/// The history of a timeline in OpenMetrics, for `promtool tsdb create-blocks-from openmetrics`.
///
/// A series has a sample at the beginning of a span and at each full minute within it, as a query looks back for five
/// minutes. If the state after the span is not known, its end has a sample, too. A span of more than a year has no
/// sample within it. Prometheus counts in milliseconds.
struct TimelineHistory {
    /// The values of a lane at a time.
    private struct Sample {
        let milliseconds: Int64
        /// Whether packets can leave; `nil` if that is not known.
        let isReachable: Bool?
        /// Whether packets can leave and nothing answers; `nil` if that is not known.
        let isSilent: Bool?
        let sums: TimelineTotal.Sums
    }

    private static let minute: Int64 = 60_000
    /// The longest span with a sample for each minute: a clock that was not set makes spans of decades.
    private static let longest = 366 * 24 * 60 * minute
    /// The number of bytes that are delivered together.
    private static let portion = 1 << 16

    private let lanes: [Timeline.Lane]
    private let host: String?

    /// - Parameters:
    ///   - timeline: The timeline; a target that is given twice is written once.
    ///   - host: The value of the label `host`; `nil` for no label.
    init(_ timeline: Timeline, host: String?) {
        var targets: Set<String> = []
        lanes = timeline.lanes.filter { targets.insert($0.target).inserted }
        self.host = host
    }

    /// Writes the series, metric by metric and target by target.
    func write(_ deliver: (inout ByteBuffer) throws -> Void) throws {
        try write("netflags_reachable", .gauge, "Whether packets can leave towards the target.", deliver) {
            $0.isReachable.map { $0 ? "1" : "0" }
        }
        try write(
            "netflags_silent", .gauge, "Whether packets can leave and nothing answers.",
            of: lanes.filter(\.hasEvidence), deliver
        ) { $0.isSilent.map { $0 ? "1" : "0" } }
        try write(
            "netflags_unreachable_seconds_total", .counter,
            "The recorded time in which packets could not leave.", deliver
        ) { MetricsText.seconds($0.sums.unreachable) }
        try write(
            "netflags_losses_total", .counter, "How often packets could not leave any more.", deliver
        ) { "\($0.sums.losses)" }
        var end = ByteBuffer()
        end.append("# EOF\n")
        try deliver(&end)
    }

    private func write(
        _ name: String, _ kind: MetricsText.Kind, _ help: String, of lanes: [Timeline.Lane]? = nil,
        _ deliver: (inout ByteBuffer) throws -> Void, _ value: (Sample) -> String?
    ) throws {
        let lanes = lanes ?? self.lanes
        guard !lanes.isEmpty else { return }
        var buffer = ByteBuffer()
        // OpenMetrics declares a counter without the suffix `_total`.
        let family = kind == .counter ? String(name.dropLast("_total".count)) : name
        buffer.append(MetricsText.header(family, help, kind))
        for lane in lanes {
            let labels = [("target", lane.target)] + (host.map { [("host", $0)] } ?? [])
            let series = name + MetricsText.labels(labels)
            try Self.forEachSample(of: lane) { sample in
                guard let text = value(sample) else { return }
                let time = MetricsText.seconds(sample.milliseconds * 1_000)
                buffer.append("\(series) \(text) \(time)\n")
                if buffer.bytes.count > Self.portion { try deliver(&buffer) }
            }
            try deliver(&buffer)
        }
    }

    private static func forEachSample(of lane: Timeline.Lane, _ body: (Sample) throws -> Void) throws {
        var sums = TimelineTotal.Sums()
        var last = Int64.min
        for (index, interval) in lane.intervals.enumerated() {
            func add(_ milliseconds: Int64) throws {
                guard milliseconds > last else { return }
                last = milliseconds
                var (part, found) = (interval, sums)
                part.end = max(part.start, Recording.Time(microsecondsSince1970: milliseconds * 1_000))
                found.add(part)
                try body(
                    Sample(
                        milliseconds: milliseconds, isReachable: interval.isReachable,
                        isSilent: interval.isSilent(at: part.end), sums: found))
            }
            let start = interval.start.microsecondsSince1970 / 1_000
            let end = interval.end.microsecondsSince1970 / 1_000
            if interval.state != .unrecorded, end > start {
                try add(start)
                let minutes = end - start <= longest ? end : start
                for minute in stride(from: (start / minute + 1) * minute, to: minutes, by: Int(minute)) {
                    try add(minute)
                }
                let next = lane.intervals.dropFirst(index + 1).first
                if next?.state ?? .unrecorded == .unrecorded { try add(end) }
            }
            sums.add(interval)
        }
    }
}
