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
    /// The event that changed the result; `nil` for the first result, and where none is known.
    var cause: ChangeCause?

    /// The flags; none without a report.
    var flags: ReachabilityFlags {
        outcome?.report?.flags ?? []
    }

    /// The reason of the flags.
    var reason: String { outcome?.reason ?? "not resolved yet" }

    /// The exit status that this result alone gives to `check`.
    var exitStatus: ExitStatus {
        mistake == nil ? ExitStatus(isReachable: outcome?.report?.isReachable) : .undetermined
    }

    /// What is said on standard error about a result that a mistyped name can have; `nil` for others.
    var mistake: String? { outcome?.mistake }
}

/// A format of `check` and `watch`.
protocol LineFormat {
    /// Formats a line; the format may keep it until ``flush(to:)``.
    mutating func write(_ line: TargetLine, to buffer: inout ByteBuffer)

    /// Formats the lines kept so far.
    mutating func flush(to buffer: inout ByteBuffer)
}
