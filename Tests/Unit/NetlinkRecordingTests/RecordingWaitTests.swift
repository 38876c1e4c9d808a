// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import NetlinkRecording

struct RecordingWaitTests {
    @Test func `a pipe and a socket without a reader end a wait, a file does not`() throws {
        let file = try TemporaryFile()
        var look = SuspendingClock.now
        var sockets: [Int32] = [-1, -1]
        try #require(
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &sockets) == 0)
        for (reading, writing) in [try openPipe(), (sockets[0], sockets[1])] {
            defer { close(writing) }
            var wait = RecordingWait(RecordingStop(), output: writing)
            #expect(try wait.next(events: [], until: .now, &look) == .timeout)
            close(reading)
            // A process that another test starts has the end too, until it executes its program.
            #expect(try wait.next(events: [], until: .now + .seconds(600), &look) == .hangUp)
        }
        let descriptor = open(file.path, O_WRONLY | O_CLOEXEC)
        defer { close(descriptor) }
        var wait = RecordingWait(RecordingStop(), output: descriptor)
        #expect(try wait.next(events: [], until: .now, &look) == .timeout)
    }
}
