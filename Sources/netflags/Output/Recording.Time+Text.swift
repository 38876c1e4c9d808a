// SPDX-License-Identifier: Apache-2.0

import NetlinkRecording

extension Recording.Time {
    /// The current time of the host's clock.
    static var now: Recording.Time { ClockReading.now.time }

    /// The text for a column of a terminal: without the date where the terminal is narrow.
    func description(forWidth width: Int?) -> String {
        width.map { $0 < 100 } ?? false ? clock(13) : description
    }
}
