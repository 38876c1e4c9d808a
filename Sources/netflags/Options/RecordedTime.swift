// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRecording

/// A time of `--from` and `--to`.
enum RecordedTime: Hashable {
    /// A point in time.
    case instant(Recording.Time)
    /// A time of day in UTC, in microseconds.
    case timeOfDay(Int64)

    /// Parses RFC 3339, with a fraction or not, or a time of day with minutes or seconds.
    init(_ text: String) throws {
        guard let time = Self(parsing: text) else {
            throw UsageError(
                "\"\(text)\" is not a time: give one such as 2031-05-04T03:02:01Z, or a time of day such as 03:02"
            )
        }
        self = time
    }

    private init?(parsing text: String) {
        guard let separator = text.firstIndex(where: { $0 == "T" || $0 == "t" || $0 == " " }) else {
            guard let time = Self.timeOfDay(text[...]) else { return nil }
            self = .timeOfDay(time)
            return
        }
        var rest = text[text.index(after: separator)...]
        var offset: Int64 = 0
        if rest.last == "Z" || rest.last == "z" {
            rest = rest.dropLast()
        } else if let sign = rest.lastIndex(where: { $0 == "+" || $0 == "-" }),
            let distance = Self.timeOfDay(rest[rest.index(after: sign)...])
        {
            offset = rest[sign] == "+" ? distance : -distance
            rest = rest[..<sign]
        } else {
            return nil
        }
        guard let date = Self.numbers(text[..<separator], "-", [4, 2, 2]), let time = Self.timeOfDay(rest)
        else {
            return nil
        }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (
            Int32(date[0]) - 1_900, Int32(date[1]) - 1, Int32(date[2])
        )
        let seconds = timegm(&parts)
        // timegm normalizes dates that do not exist.
        guard Int(parts.tm_mday) == date[2], Int(parts.tm_mon) == date[1] - 1 else { return nil }
        self = .instant(Recording.Time(microsecondsSince1970: Int64(seconds) * 1_000_000 + time - offset))
    }

    /// The microseconds of `HH:MM`, `HH:MM:SS` or `HH:MM:SS.fraction`.
    private static func timeOfDay(_ text: Substring) -> Int64? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let clock = numbers(parts[0], ":", [2, 2, 2]) ?? numbers(parts[0], ":", [2, 2]) else {
            return nil
        }
        let seconds = clock.count > 2 ? clock[2] : 0
        // A leap second is the first of the next minute.
        guard clock[0] < 24, clock[1] < 60, seconds <= 60 else { return nil }
        var microseconds = Int64(clock[0] * 3_600 + clock[1] * 60 + seconds) * 1_000_000
        if parts.count > 1 {
            let digits = parts[1].prefix(6)
            guard clock.count > 2, !parts[1].isEmpty, parts[1].allSatisfy(\.isASCIIDigit) else { return nil }
            let fraction = Int64(digits + String(repeating: "0", count: 6 - digits.count)) ?? 0
            microseconds += fraction
        }
        return microseconds
    }

    /// Decimal numbers of so many digits each.
    private static func numbers(_ text: Substring, _ separator: Character, _ lengths: [Int]) -> [Int]? {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.map(\.count) == lengths, parts.allSatisfy({ $0.allSatisfy(\.isASCIIDigit) }) else {
            return nil
        }
        return parts.compactMap { Int($0) }
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

extension Character {
    fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}
