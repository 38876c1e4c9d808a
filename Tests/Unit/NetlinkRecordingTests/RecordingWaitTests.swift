// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import NetlinkRecording

struct RecordingWaitTests {
    @Test func `a pipe and a socket without a reader end a wait, a file does not`() throws {
        let file = try TemporaryFile()
        for makePair in [pipe, { socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, $0) }] {
            var ends: [Int32] = [-1, -1]
            try #require(makePair(&ends) == 0)
            defer { close(ends[1]) }
            var wait = RecordingWait(RecordingStop(), output: ends[1])
            #expect(try wait.next(events: -1, until: .now) == .timeout)
            close(ends[0])
            #expect(try wait.next(events: -1, until: .now) == .hangUp)
        }
        let descriptor = open(file.path, O_WRONLY | O_CLOEXEC)
        defer { close(descriptor) }
        var wait = RecordingWait(RecordingStop(), output: descriptor)
        #expect(try wait.next(events: -1, until: .now) == .timeout)
    }
}
