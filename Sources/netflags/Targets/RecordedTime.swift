// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkPlanning
import NetlinkRecording

/// A time of `--at`, `--from` and `--to`.
enum RecordedTime: Hashable {
    /// A point in time.
    case instant(Recording.Time)
    /// A time of day in UTC, in microseconds.
    case timeOfDay(Int64)

    /// Parses a date, a time of day with minutes or seconds, or both; without a zone they are in UTC.
    init(_ text: String) throws {
        guard let parts = text.wholeMatch(of: /([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[Tt ](.+))?/)?.output else {
            guard let time = Self.timeInUTC(text[...]) else { throw Self.invalid(text, Self.forms) }
            // Another zone has another day.
            let rest = time % Self.day
            self = .timeOfDay(rest < 0 ? rest + Self.day : rest)
            return
        }
        guard let year = Int32(parts.1), let month = Int32(parts.2), let day = Int32(parts.3),
            let time = parts.4.map(Self.timeInUTC) ?? 0
        else { throw Self.invalid(text, Self.forms) }
        var date = tm()
        (date.tm_year, date.tm_mon, date.tm_mday) = (year - 1_900, month - 1, day)
        let seconds = timegm(&date)
        // timegm normalizes dates that do not exist.
        guard date.tm_mday == day, date.tm_mon == month - 1 else {
            throw Self.invalid(text, "there is no day \(text.prefix(10))")
        }
        self = .instant(Recording.Time(microsecondsSince1970: Int64(seconds) * 1_000_000 + time))
    }

    private static let forms = """
        give one such as 2031-05-04T03:02:01Z, 2031-05-04T05:02+02:00 or 2031-05-04 (its 00:00), or a time of day \
        such as 03:02; without a zone they are in UTC
        """

    private static func invalid(_ text: String, _ reason: String) -> UsageError {
        UsageError("\"\(text)\" is not a time: \(reason)")
    }

    /// A day in microseconds.
    private static let day: Int64 = 86_400_000_000

    /// The microseconds since midnight in UTC, before or after that day with a zone.
    private static func timeInUTC(_ text: Substring) -> Int64? {
        let form = /([0-9:.]+)(?:[Zz]|([+-])([0-9]{2}):?([0-9]{2}))?/
        guard let match = text.wholeMatch(of: form)?.output, let time = timeOfDay(match.1) else { return nil }
        guard let sign = match.2, let hours = match.3, let minutes = match.4 else { return time }
        guard let offset = timeOfDay("\(hours):\(minutes)"[...]) else { return nil }
        return sign == "-" ? time + offset : time - offset
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
            let start = start?.microsecondsSince1970 ?? 0
            let sameDay = start - start % Self.day + time
            return Recording.Time(microsecondsSince1970: sameDay < start ? sameDay + Self.day : sameDay)
        }
    }
}
