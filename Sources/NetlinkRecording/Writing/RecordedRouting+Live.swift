// SPDX-License-Identifier: Apache-2.0

package import RoutingModel
internal import SystemSupport

extension RecordedRouting {
    /// Dumps the calling thread's network namespace, as a recording of this moment would.
    ///
    /// - Returns: The network.
    /// - Throws: An error when the kernel does not answer; a table that it lacks is empty.
    package static func live() throws(ReachabilityError) -> RecordedRouting {
        var recorder = try Recorder()
        var replay = RecordingReplay()
        replay.take(try recorder.takeSnapshot())
        return RecordedRouting(replay)
    }
}

extension RecordingReplay {
    /// Applies a dump of this machine, as a recording of it would.
    mutating func take(_ dump: RecordedSnapshot) {
        func take(_ content: RecordingEntry.Content) {
            self.take(RecordingEntry(path: "live", offset: 0, time: dump.time, content: content))
        }
        take(.annotation(.origin(RecordingOrigin.current)))
        take(.annotation(.dumpBegins))
        for table in dump.tables { table.forEachMessage { take(.message($0)) } }
        take(.annotation(.wirelessInterfaces(dump.wirelessInterfaces)))
        take(.annotation(.cellularInterfaces(dump.cellularInterfaces)))
        take(.annotation(.changingTables(dump.changingTables)))
        take(.annotation(.dumpEnds))
    }
}
