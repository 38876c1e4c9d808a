// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// The texts of the last few reasons, ready for a terminal.
///
/// Thousands of targets have a handful of reasons between them, and putting one into words takes as long as a
/// tenth of the question.
struct ReasonTexts {
    private static let limit = 4
    private var recent: [(reason: ReachabilityReason, text: ByteBuffer)] = []
    private var oldest = 0

    /// The words of a reason.
    mutating func text(of reason: ReachabilityReason) -> ByteBuffer {
        for entry in recent where entry.reason == reason { return entry.text }
        var text = ByteBuffer()
        text.append(printable: reason.description)
        if recent.count < Self.limit {
            recent.append((reason, text))
        } else {
            recent[oldest] = (reason, text)
            oldest = (oldest + 1) % Self.limit
        }
        return text
    }
}
