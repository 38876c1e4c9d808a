// SPDX-License-Identifier: Apache-2.0

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

    // Each ended the program with a trap.
    @Test func `times and durations beyond what a number holds are the last ones that it holds`() {
        let first = Recording.Time(microsecondsSince1970: Int64.min)
        let last = Recording.Time(microsecondsSince1970: Int64.max)
        let (longest, backwards) = (Duration.microseconds(Int64.max), Duration.microseconds(Int64.min))
        #expect(first.duration(to: last) == longest)
        #expect(last.duration(to: first) == backwards)
        let zero = Recording.Time(microsecondsSince1970: 0)
        #expect(zero.advanced(by: Duration.seconds(Int64.max)) == last)
        #expect(zero.advanced(by: Duration.seconds(Int64.min)) == first)
        #expect(last.advanced(by: Duration.seconds(1)) == last)
        #expect(first.advanced(by: Duration.seconds(-1)) == first)
        #expect(zero.advanced(by: Duration.microseconds(7)) == Recording.Time(microsecondsSince1970: 7))
    }
}
