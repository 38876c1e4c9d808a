// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording

/// A recording at an instant.
struct RecordedInstant: Hashable {
    /// The recording as given, `-` for standard input.
    let operand: String
    /// The instant; `nil` for the end.
    var time: RecordedTime?

    /// The network of that instant; prints where the recording could not be read.
    func source() throws(ReachabilityError) -> NetworkSource {
        let recording = Recording(operand: operand)
        let source = try recording.source(at: try recording.time(time))
        source.damage.forEach(printDamage)
        return source
    }
}

extension Recording {
    /// The recording that an option or argument names: a file, a directory, or `-` for standard input, which messages
    /// call "stdin".
    init(operand: String) {
        self = operand == "-" ? .standardInput : Recording(path: operand)
    }

    /// The time that an option means; a time of day is the first one in the recording.
    func time(_ time: RecordedTime?) throws(ReachabilityError) -> Time? {
        guard let time else { return nil }
        return time.time(after: time.isTimeOfDay ? try span()?.lowerBound : nil)
    }
}
