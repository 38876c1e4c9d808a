// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import Testing

@testable import NetlinkPlanning
@testable import netflags

struct DifferenceFormatTests {
    private func text(isSmallest: Bool?, isJSON: Bool) throws -> String {
        let source = try NetworkSource.recording(path: Recordings.path("01-dummy/02-up-default-routes"))
        let report = try NetworkReachability(target: .defaultPath, source: source).blockingReport()
        let found = TargetDifference(
            query: TargetDifference.Query(text: "default", target: .defaultPath),
            old: .success(report),
            new: .success(report),
            causes: isSmallest.map {
                NetworkComparison.Causes(differences: [], evaluations: 601, isSmallest: $0)
            }
        )
        var buffer = ByteBuffer()
        DifferenceFormat(text: DifferenceText(), isJSON: isJSON, isColoured: false).write(found, to: &buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    @Test func `a set of causes says where the search ended before it was the smallest`() throws {
        let line = "  not the smallest set: the search ended after 601 evaluations\n"
        #expect(try text(isSmallest: false, isJSON: false).hasSuffix(line))
        #expect(try !text(isSmallest: true, isJSON: false).contains("smallest"))
    }

    @Test func `a target without causes says what was tried`() throws {
        let line =
            "because unknown: even without any of the recorded differences the old answer does not return\n"
        #expect(try text(isSmallest: nil, isJSON: false).hasSuffix(line))
        let json = try #require(JSONValue(text(isSmallest: nil, isJSON: true).dropLast()))
        #expect(json["causes"] == .null)
    }

    @Test(arguments: [false, true]) func `JSON says whether the causes are the smallest set`(isSmallest: Bool)
        throws
    {
        let json = try #require(JSONValue(text(isSmallest: isSmallest, isJSON: true).dropLast()))
        #expect(json["smallest"] == .bool(isSmallest))
    }
}
