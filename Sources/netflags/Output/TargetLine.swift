// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording

/// The library's result for one target, with the text that the target was given as.
struct TargetLine {
    let target: String
    /// `nil` while a name is not resolved for the first time.
    let outcome: Result<ReachabilityReport, ReachabilityError>?
    /// When the result was found; `check` prints no time.
    var time: Recording.Time?

    /// The flags; none without a report.
    var flags: ReachabilityFlags {
        outcome?.report?.flags ?? []
    }

    /// The reason of the flags.
    var reason: String {
        switch outcome {
        case .success(let report): report.reason.description
        case .failure: "the target could not be evaluated"
        case nil: "not resolved yet"
        }
    }

    /// The exit status that this result alone gives.
    var exitStatus: ExitStatus {
        switch outcome {
        case .success(let report): report.isReachable ? .success : .unreachable
        case .failure, nil: .undetermined
        }
    }
}

extension Result where Success == ReachabilityReport, Failure == ReachabilityError {
    /// The report; `nil` without one.
    var report: ReachabilityReport? {
        if case .success(let report) = self { report } else { nil }
    }

    /// The error; `nil` without one.
    var failure: ReachabilityError? {
        if case .failure(let error) = self { error } else { nil }
    }

    /// Whether packets can leave; `nil` when that could not be determined.
    ///
    /// An interface that does not exist can appear; until then packets cannot leave.
    var isReachable: Bool? {
        switch self {
        case .success(let report): report.isReachable
        case .failure(let error): error.code == .unknownInterface ? false : nil
        }
    }
}

/// A format of `check` and `watch`.
protocol LineFormat {
    /// Whether each line is written before the next target is evaluated.
    var isFlushedAtEachLine: Bool { get }

    /// Formats a line; the format may keep it until ``flush(to:)``.
    mutating func write(_ line: TargetLine, to buffer: inout ByteBuffer)

    /// Formats the lines kept so far.
    mutating func flush(to buffer: inout ByteBuffer)

    /// Formats what follows the last line.
    mutating func finish(_ buffer: inout ByteBuffer)
}

extension LineFormat {
    var isFlushedAtEachLine: Bool { false }

    mutating func flush(to buffer: inout ByteBuffer) {}

    mutating func finish(_ buffer: inout ByteBuffer) {
        flush(to: &buffer)
    }
}

/// The format of `--quiet`: no output.
struct QuietFormat: LineFormat {
    mutating func write(_ line: TargetLine, to buffer: inout ByteBuffer) {}
}

/// What the targets of one network have in common.
struct ReportedWay: Equatable {
    let interface: NetworkInterface?
    let gateway: IPAddress?
    let reason: ReachabilityReason

    init(_ report: ReachabilityReport) {
        (interface, gateway, reason) = (report.interface, report.gateway, report.reason)
    }
}

/// Caches the texts of the last few ways.
///
/// Thousands of targets share a handful of ways, and formatting one takes a tenth of an evaluation.
struct RecentTexts {
    private static let limit = 8
    private var recent: [(way: ReportedWay, text: ByteBuffer)] = []
    private var oldest = 0

    /// Finds or formats the text of a way.
    ///
    /// - Parameters:
    ///   - way: The way.
    ///   - write: Formats it.
    /// - Returns: The text.
    mutating func text(of way: ReportedWay, _ write: (ReportedWay, inout ByteBuffer) -> Void) -> ByteBuffer {
        for entry in recent where entry.way == way { return entry.text }
        var text = ByteBuffer()
        write(way, &text)
        if recent.count < Self.limit {
            recent.append((way, text))
        } else {
            recent[oldest] = (way, text)
            oldest = (oldest + 1) % Self.limit
        }
        return text
    }
}
