// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import Testing

struct RecordingTimeTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_000_000_000_001, "2001-09-09T01:46:40.001Z"),
            (951_782_400_050, "2000-02-29T00:00:00.050Z"),
        ] as [(Int64, String)]
    )
    func `it is written as RFC 3339 does, with every digit`(milliseconds: Int64, text: String) {
        #expect(Recording.Time(microsecondsSince1970: milliseconds * 1_000).description == text)
    }
}
