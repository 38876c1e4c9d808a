// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

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
