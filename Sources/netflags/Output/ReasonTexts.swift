// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// Caches the texts of the last few reasons.
///
/// Thousands of targets share a handful of reasons, and formatting one takes a tenth of an evaluation.
struct ReasonTexts {
    private static let limit = 4
    private var recent: [(reason: ReachabilityReason, text: ByteBuffer)] = []
    private var oldest = 0

    /// The text of a reason, safe for terminals.
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
