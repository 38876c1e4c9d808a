// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkPlanning
import NetlinkRecording

/// A time of `--from` and `--to`.
enum RecordedTime: Hashable {
    /// A point in time.
    case instant(Recording.Time)
    /// A time of day in UTC, in microseconds.
    case timeOfDay(Int64)

    /// Parses RFC 3339, with a fraction or not, or a time of day with minutes or seconds.
    init(_ text: String) throws {
        if let time = Self.timeOfDay(text[...]) {
            self = .timeOfDay(time)
        } else if let time = Self.instant(text) {
            self = .instant(time)
        } else {
            throw UsageError(
                "\"\(text)\" is not a time: give one such as 2031-05-04T03:02:01Z, or a time of day such as 03:02"
            )
        }
    }

    private static func instant(_ text: String) -> Recording.Time? {
        let form = /([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9:.]+)(?:[Zz]|([+-])([0-9:.]+))/
        guard let match = text.wholeMatch(of: form)?.output, let year = Int32(match.1),
            let month = Int32(match.2), let day = Int32(match.3), let time = timeOfDay(match.4),
            let distance = match.6.map(timeOfDay) ?? 0
        else { return nil }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1_900, month - 1, day)
        let seconds = timegm(&parts)
        // timegm normalizes dates that do not exist.
        guard parts.tm_mday == day, parts.tm_mon == month - 1 else { return nil }
        let offset = match.5 == "-" ? -distance : distance
        return Recording.Time(microsecondsSince1970: Int64(seconds) * 1_000_000 + time - offset)
    }

    /// The microseconds of `HH:MM`, `HH:MM:SS` or `HH:MM:SS.fraction`.
    private static func timeOfDay(_ text: Substring) -> Int64? {
        let form = /([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?/
        guard let match = text.wholeMatch(of: form)?.output, let hours = Int64(match.1),
            let minutes = Int64(match.2), let seconds = Int64(match.3 ?? "0"),
            // A leap second is the first of the next minute.
            hours < 24, minutes < 60, seconds <= 60
        else { return nil }
        let digits = (match.4 ?? "").prefix(6)
        let microseconds = Int64(digits + String(repeating: "0", count: 6 - digits.count)) ?? 0
        return (hours * 3_600 + minutes * 60 + seconds) * 1_000_000 + microseconds
    }

    /// Whether the date is still to be found.
    var isTimeOfDay: Bool {
        if case .timeOfDay = self { true } else { false }
    }

    /// The time; a time of day is the first one that is not before another time.
    func time(after start: Recording.Time?) -> Recording.Time {
        switch self {
        case .instant(let time): return time
        case .timeOfDay(let time):
            let day: Int64 = 86_400_000_000
            let start = start?.microsecondsSince1970 ?? 0
            let sameDay = start - start % day + time
            return Recording.Time(microsecondsSince1970: sameDay < start ? sameDay + day : sameDay)
        }
    }
}
