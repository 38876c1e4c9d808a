// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import Testing

@testable import netflags

struct DifferenceFormatTests {
    @Test(arguments: [false, true]) func `a target without causes says so`(isJSON: Bool) throws {
        let source = try NetworkSource.recording(path: Recordings.path("01-dummy/02-up-default-routes"))
        let report = try NetworkReachability(target: .defaultPath, source: source).blockingReport()
        let found = TargetDifference(
            query: TargetDifference.Query(text: "default", target: .defaultPath),
            old: .success(report), new: .success(report))
        var buffer = ByteBuffer()
        DifferenceFormat(text: DifferenceText(), isJSON: isJSON, isColoured: false).write(found, to: &buffer)
        let text = String(decoding: buffer.bytes, as: UTF8.self)
        if isJSON {
            #expect(try #require(JSONValue(text.dropLast()))["causes"] == .null)
        } else {
            #expect(text.hasSuffix("because unknown: the answers have read nothing that differs\n"))
        }
    }
}
