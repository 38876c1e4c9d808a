// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording

/// The library's result for one target, with the text that the target was given as.
struct TargetLine {
    let target: String
    /// `nil` while a name is not resolved for the first time.
    let outcome: Answer?
    /// When the result was found; `check` prints no time.
    var time: Recording.Time?

    /// The flags; none without a report.
    var flags: ReachabilityFlags {
        outcome?.report?.flags ?? []
    }

    /// The reason of the flags.
    var reason: String { outcome?.reason ?? "not resolved yet" }

    /// The exit status that this result alone gives.
    var exitStatus: ExitStatus {
        ExitStatus(isReachable: outcome?.report?.isReachable)
    }
}

extension Result where Success == ReachabilityReport, Failure == ReachabilityError {
    /// The report; `nil` without one.
    var report: ReachabilityReport? {
        try? get()
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
    /// Formats a line; the format may keep it until ``flush(to:)``.
    mutating func write(_ line: TargetLine, to buffer: inout ByteBuffer)

    /// Formats the lines kept so far.
    mutating func flush(to buffer: inout ByteBuffer)
}
