// SPDX-License-Identifier: Apache-2.0

import NetlinkRecording

/// Round times on the axis of a timeline, in UTC.
struct TimeAxis {
    let ticks: [(time: Recording.Time, label: String)]

    /// The steps between ticks, in milliseconds: each divides the next longer unit.
    private static let steps: [Int64] =
        [1, 2, 5, 10, 20, 50, 100, 200, 500]
        + [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200].map {
            $0 * 1_000
        }
        + [1, 2, 7, 14, 28, 56, 112, 365, 3_650, 36_500].map { $0 * day }
    private static let day: Int64 = 86_400_000

    /// Selects the ticks of a span.
    ///
    /// - Parameters:
    ///   - start: The start of the span.
    ///   - end: Its end.
    ///   - limit: How many ticks there is room for.
    init(from start: Recording.Time, to end: Recording.Time, atMost limit: Int) {
        let (first, last) = (start.milliseconds, end.milliseconds)
        let step = Self.steps.first { (last - first) / $0 < Int64(max(limit, 1)) } ?? (last - first + 1)
        let times = stride(from: (first + step - 1) / step * step, through: last, by: Int(step))
        ticks = times.prefix(limit + 1).map { milliseconds in
            let time = Recording.Time(microsecondsSince1970: milliseconds * 1_000)
            return (time, Self.label(time, step))
        }
    }

    private static func label(_ time: Recording.Time, _ step: Int64) -> String {
        if step >= day { return time.date }
        // Midnight names the day that begins.
        if step >= 60_000 {
            return time.milliseconds % day == 0 ? String(time.date.dropFirst(5)) : time.clock(5)
        }
        return time.clock(step < 1_000 ? 12 : 8)
    }
}

extension Recording.Time {
    fileprivate var milliseconds: Int64 { microsecondsSince1970 / 1_000 }
}
