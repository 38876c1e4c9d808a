// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// The library's result for one target, with the text that the target was given as.
struct TargetLine {
    let target: String
    /// `nil` while a name is not resolved for the first time.
    let outcome: ReportOutcome?
    /// When the result was found; `check` prints no time.
    var time: Recording.Time?

    /// The report; `nil` without one.
    var report: ReachabilityReport? {
        if case .report(let report) = outcome { report } else { nil }
    }

    /// The error; `nil` without one.
    var failure: ReachabilityError? {
        if case .failure(let error) = outcome { error } else { nil }
    }

    /// The flags; none without a report.
    var flags: ReachabilityFlags {
        if case .report(let report) = outcome { report.flags } else { [] }
    }

    /// The reason of the flags.
    var reason: String {
        switch outcome {
        case .report(let report): report.reason.description
        case .failure: "the target could not be evaluated"
        case nil: "not resolved yet"
        }
    }

    /// The exit status that this result alone gives.
    var exitStatus: ExitStatus {
        switch outcome {
        case .report(let report): report.isReachable ? .success : .unreachable
        case .failure, nil: .undetermined
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
