// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

extension RecordedRouting {
    /// Dumps the calling thread's network namespace, as a recording of this moment would.
    ///
    /// - Returns: The network.
    /// - Throws: A fault when the kernel does not answer; a table that it lacks is empty.
    package static func live() throws(RoutingFault) -> RecordedRouting {
        var recorder = try Recorder()
        return RecordedRouting(try recorder.takeSnapshot(), origin: Recorder.origin)
    }

    /// Takes the network of one dump.
    private init(_ dump: RecordedSnapshot, origin: String) {
        var replay = RecordingReplay(path: "live")
        func take(_ content: RecordingEntry.Content) {
            replay.take(RecordingEntry(offset: 0, time: dump.time, content: content))
        }
        take(.annotation(.origin(origin)))
        take(.annotation(.dumpBegins))
        for table in dump.tables {
            table.messages.withUnsafeBytes { bytes in
                var rest = bytes[...]
                while let message = NetlinkMessage(UnsafeRawBufferPointer(rebasing: rest)) {
                    take(.message(message))
                    rest = rest.dropFirst(RecordingFormat.padded(message.bytes.count))
                }
            }
        }
        take(.annotation(.wirelessInterfaces(dump.wirelessInterfaces)))
        take(.annotation(.cellularInterfaces(dump.cellularInterfaces)))
        take(.annotation(.changingTables(dump.changingTables)))
        take(.annotation(.dumpEnds))
        self.init(replay)
    }
}
