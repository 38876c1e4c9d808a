// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkPlanning
import NetlinkReachability
import NetlinkRecording

/// A recording at an instant.
struct RecordedInstant: Hashable {
    /// The recording as given, `-` for standard input.
    let operand: String
    /// The instant; `nil` for the end.
    var time: RecordedTime?

    /// The network of that instant; prints where the recording could not be read, and that it ends before.
    ///
    /// A time of day is the first one in the recording.
    ///
    /// - Parameters:
    ///   - origins: The time since when to note who asked for changes; `nil` to note nothing.
    ///   - report: Prints damage.
    /// - Returns: The network.
    /// - Throws: An error if the recording cannot be opened, or has no whole dump before its damage.
    func routing(
        notingOriginsSince origins: Recording.Time? = nil,
        _ report: (Recording.Damage) -> Void = printDamage
    ) throws(ReachabilityError) -> RecordedRouting {
        let recording = Recording(operand: operand)
        let day = time?.isTimeOfDay == true ? try recording.firstTime() : nil
        let instant = time?.time(after: day)
        let routing = try recording.routing(at: instant, notingOriginsSince: origins)
        routing.damage.forEach(report)
        if let instant, let end = routing.endBeforeInstant {
            printError(
                "\(LineFile(operand).name) ends at \(end), before \(instant): the answer is that of its end")
        }
        if let instant, let begin = routing.beginAfterInstant {
            printError("\(LineFile(operand).name) begins at \(begin), after \(instant): give a later time")
        }
        return routing
    }

    /// The network of that instant, as ``routing()``.
    func source() throws(ReachabilityError) -> NetworkSource {
        NetworkSource(routing: try routing(), resolver: SystemResolver.shared)
    }
}

extension Recording {
    /// Whether an operand can be read twice: it is a file or a directory, and no pipe.
    static func isStored(_ operand: String) -> Bool {
        var status = stat()
        return operand != "-" && stat(operand, &status) == 0
            && [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
    }

    /// Throws for a word that has another meaning, where there is no file of that name.
    static func checkOperand(_ operand: String) throws(UsageError) {
        let isLive = operand == "live"
        guard isLive || TargetQuery.isRecordedTarget(operand), access(operand, F_OK) != 0 else { return }
        throw UsageError(
            isLive
                ? "\"live\" is not a recording: make one with netflags record --events FILE; the running kernel is "
                    + "asked without --replay"
                : "\"\(operand)\" is a target: give a recording before it, a file or a directory of netflags record"
        )
    }

    /// The recording that an option or argument names: a file, a directory, or `-` for standard input, which messages
    /// call "stdin".
    init(operand: String) {
        self = operand == "-" ? .standardInput : Recording(path: operand)
    }
}
