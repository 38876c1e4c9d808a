// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRecording
import SystemSupport

/// A recording at an instant.
struct RecordedInstant: Hashable {
    /// The recording as given; `-` is standard input.
    let operand: String
    /// The instant; `nil` for the end of the recording.
    var time: RecordedTime?

    /// The network at that instant; prints the damage of the recording, and whether it ends before the instant.
    ///
    /// A time of day is the first such time in the recording.
    ///
    /// - Parameters:
    ///   - origins: The time from which the requesters of changes are recorded; `nil` records none.
    ///   - report: Prints damage.
    /// - Returns: The network.
    /// - Throws: An error if the recording cannot be opened, or has no complete dump before its damage.
    func routing(
        notingOriginsSince origins: Recording.Time? = nil,
        _ report: (Recording.Damage) -> Void = printDamage
    ) throws(ReachabilityError) -> RecordedRouting {
        let recording = Recording(operand: operand)
        let start = time?.isTimeOfDay == true ? try recording.firstTime() : nil
        var instant = time?.time(after: start)
        var routing = try recording.routing(at: instant?.endOfMillisecond, notingOriginsSince: origins)
        if let start, let end = routing.endBeforeInstant, let other = time?.time(in: start...max(start, end)),
            other != instant
        {
            instant = other
            routing = try recording.routing(at: other.endOfMillisecond, notingOriginsSince: origins)
        }
        routing.damage.forEach(report)
        if let instant, let end = routing.endBeforeInstant, end < instant {
            printError(
                "\(LineFile(operand).name) ends at \(end), before \(instant): the answer is that of its end")
        }
        if let instant, let begin = routing.beginAfterInstant {
            printError("\(LineFile(operand).name) begins at \(begin), after \(instant): give a later time")
        }
        return routing
    }

    /// The network at that instant, as ``routing()`` reads it.
    func source() throws(ReachabilityError) -> NetworkSource {
        NetworkSource(routing: try routing(), resolver: SystemResolver.shared)
    }
}

extension Recording {
    /// Whether an operand can be read twice, as a file and a directory can and a pipe cannot.
    static func isStored(_ operand: String) -> Bool {
        var status = stat()
        return operand != "-" && stat(operand.fileName, &status) == 0
            && [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
    }

    /// Throws for a word that has another meaning, unless a file has that name.
    static func checkOperand(_ operand: String) throws(UsageError) {
        let isLive = operand == "live"
        guard isLive || TargetQuery.isRecordedTarget(operand), access(operand.fileName, F_OK) != 0 else {
            return
        }
        throw UsageError(
            isLive
                ? "\"live\" is not a recording: make one with netflags record --events FILE; the running kernel is "
                    + "asked without --replay"
                : "\"\(operand)\" is a target: give a recording before it, a file or a directory of netflags record"
        )
    }

    /// The recording that an option or argument names: a file, a directory, or `-` for standard input.
    ///
    /// Messages call standard input "stdin".
    init(operand: String) {
        self = operand == "-" ? .standardInput : Recording(fileName: operand)
    }
}

// MARK: - Times

/// A time of `--at`, `--from` and `--to`.
enum RecordedTime: Hashable {
    /// A point in time.
    case instant(Recording.Time)
    /// A time of day in UTC, and the unit that it is given in; both in microseconds.
    case timeOfDay(Int64, unit: Int64)

    /// Parses a date, a time of day with minutes or seconds, or both; a text without a zone is in UTC.
    init(_ text: String) throws {
        guard let parts = text.wholeMatch(of: /([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[Tt ](.+))?/)?.output else {
            guard let time = Self.timeInUTC(text[...]) else { throw Self.invalid(text, Self.forms) }
            // In another zone, the day in UTC can differ.
            let rest = time % Self.day
            let unit: Int64 = text.contains(".") ? 1_000 : text.contains(/:..:/) ? 1_000_000 : 60_000_000
            self = .timeOfDay(rest < 0 ? rest + Self.day : rest, unit: unit)
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

    /// The microseconds since midnight in UTC; with a zone, the result can lie before or after that day.
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
            // A leap second counts as the first second of the next minute.
            hours < 24, minutes < 60, seconds <= 60
        else { return nil }
        let digits = (match.4 ?? "").prefix(6)
        let microseconds = Int64(digits + String(repeating: "0", count: 6 - digits.count)) ?? 0
        return (hours * 3_600 + minutes * 60 + seconds) * 1_000_000 + microseconds
    }

    /// Whether the time has no date yet.
    var isTimeOfDay: Bool {
        if case .timeOfDay = self { true } else { false }
    }

    /// The time; a time of day is its first occurrence that is not before the beginning of a recording.
    ///
    /// If the beginning is within the minute, second or millisecond that is given, it is the beginning. If the
    /// recording is of one day, and the first occurrence is on the next, it is the one before.
    ///
    /// - Parameter recording: The span of the recording; `nil` if it has no time, or for a point in time.
    /// - Returns: The time.
    func time(in recording: ClosedRange<Recording.Time>?) -> Recording.Time {
        let time = time(after: recording?.lowerBound)
        guard isTimeOfDay, let end = recording?.upperBound, time.date > end.date else { return time }
        return Recording.Time(microsecondsSince1970: time.microsecondsSince1970 - Self.day)
    }

    /// The time; a time of day is its first occurrence that is not before another time.
    func time(after start: Recording.Time?) -> Recording.Time {
        switch self {
        case .instant(let time): return time
        case .timeOfDay(let time, let unit):
            let start = start?.microsecondsSince1970 ?? 0
            let sameDay = start - start % Self.day + time
            guard sameDay < start else { return Recording.Time(microsecondsSince1970: sameDay) }
            let isSameUnit = start - sameDay < unit
            return Recording.Time(microsecondsSince1970: isSameUnit ? start : sameDay + Self.day)
        }
    }
}

extension Recording.Time {
    /// The end of the millisecond, for a time without a smaller unit: texts show milliseconds, and an event at a time
    /// that they show has happened at that time.
    var endOfMillisecond: Recording.Time {
        let rest = microsecondsSince1970 % 1_000
        return Recording.Time(microsecondsSince1970: microsecondsSince1970 + (rest == 0 ? 999 : 0))
    }
}
