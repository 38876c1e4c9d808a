// SPDX-License-Identifier: Apache-2.0

import NetlinkRecording

extension Recording.Time {
    /// The current time of the host's realtime clock.
    static var now: Recording.Time { ClockReading.now.time }

    /// The text for a column of a terminal, without the date on a narrow terminal.
    func description(forWidth width: Int?) -> String {
        width.map { $0 < 100 } ?? false ? clock(13) : description
    }

    /// The date: `2031-05-04`.
    var date: String { String(description.prefix(10)) }

    /// The time of day in a number of characters: 5 for `03:02`, 8 for seconds, 12 for milliseconds.
    func clock(_ length: Int) -> String { String(description.dropFirst(11).prefix(length)) }
}

extension Duration {
    /// The duration in at most two units: `41 s`, `3 min 20 s`, `2 h 5 min`, `1 d 3 h`.
    var words: String {
        let milliseconds = components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
        let tenths = (milliseconds + 50) / 100
        if tenths < 100 { return tenths == 0 ? "\(milliseconds) ms" : "\(tenths / 10).\(tenths % 10) s" }
        let seconds = (milliseconds + 500) / 1_000
        let units: [(name: String, seconds: Int64)] = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)]
        for (unit, next) in zip(units, units.dropFirst()) where seconds >= unit.seconds {
            let (large, small) = (seconds / unit.seconds, seconds % unit.seconds / next.seconds)
            return "\(large) \(unit.name)" + (small == 0 ? "" : " \(small) \(next.name)")
        }
        return "\(seconds) s"
    }
}
