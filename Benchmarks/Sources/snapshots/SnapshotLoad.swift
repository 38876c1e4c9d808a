// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Duel
import NetlinkRecording
import NetlinkRoute
import RoutingModel
import RoutingSimulation

/// The time to load a snapshot from the kernel, or from a recording as `--replay` does, against a bare dump of the
/// same routes from the kernel.
struct SnapshotLoad {
    private let socket: Int32
    private let file: String

    /// Records the namespace to a file.
    init(recordingTo file: String) throws {
        self.file = file
        socket = try checked("open a netlink socket", baseline_open())
        var recorder = try Recorder()
        let dump = try recorder.takeSnapshot()
        var writer = try RecordingWriter(path: file)
        try writer.append(dump)
        try writer.finish()
    }

    func duels() throws -> [Duel] {
        let live = Side("kernel into a snapshot") { count in
            for _ in 0..<count { _ = try RecordedRouting.live().routing.snapshot }
        }
        let recorded = Side("recording into a snapshot") { count in
            for _ in 0..<count { _ = try read() }
        }
        let bare = Side("C RTM_GETROUTE dump") { count in
            for _ in 0..<count { try dump() }
        }
        return [
            Duel(
                "load all IPv4 routes", ours: live, theirs: bare, goal: .load, batch: 1, rounds: 8),
            Duel(
                "load all IPv4 routes", ours: recorded, theirs: bare, goal: .replayLoad, batch: 1,
                rounds: 8),
        ]
    }

    /// Loads the recording as `--replay` does.
    func read() throws -> NetworkSnapshot {
        try RecordedRouting(RecordingStream(path: file)).routing.snapshot
    }

    /// Dumps the kernel's IPv4 routes and returns their number.
    @discardableResult
    private func dump() throws -> Int64 {
        var checksum: UInt64 = 0
        return try checked("dump routes", baseline_dump(socket, &checksum))
    }
}
