// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Duel
import NetlinkRoute
import RoutingModel

/// What it costs to have the kernel's whole table in the process, above reading it at all.
struct SnapshotLoad {
    /// What a load may cost, as a multiple of the bare dump.
    private static let figure = 1.4

    private let kernel: KernelRouting
    private let socket: Int32
    private let file: String

    /// Makes a recording of the namespace at a path too.
    init(_ kernel: KernelRouting, recordingTo file: String) throws {
        self.kernel = kernel
        self.file = file
        socket = try checked("open a netlink socket", baseline_open())
        var recorder = try Recorder()
        let dump = try recorder.takeSnapshot()
        var writer = try RecordingWriter(path: file)
        try writer.write(dump)
        try writer.finish()
    }

    func duels() throws -> [Duel] {
        let routes = try dump()
        let live = Side("dump into a snapshot") { [kernel] count in
            for _ in 0..<count { _ = try kernel.snapshot(family: .v4) }
        }
        let recorded = Side("recording into a snapshot") { count in
            for _ in 0..<count { _ = try read() }
        }
        let question = "load \(routes) IPv4 routes"
        return [
            Duel(question, ours: live, theirs: bare, figure: Self.figure, batch: 1, rounds: 8),
            Duel(question, ours: recorded, theirs: bare, figure: Self.figure, batch: 1, rounds: 8),
        ]
    }

    private var bare: Side {
        Side("C RTM_GETROUTE dump") { count in
            for _ in 0..<count { try dump() }
        }
    }

    private func read() throws -> NetworkSnapshot {
        var reader = try RecordingReader(path: file)
        var intake = SnapshotIntake()
        try reader.readAll { entry in
            if case .message(let message) = entry.content { intake.take(message) }
        }
        intake.dumpEnded(knowsNeighbours: true)
        return intake.snapshot
    }

    /// Dumps the kernel's IPv4 routes and returns their number.
    @discardableResult
    private func dump() throws -> Int64 {
        var checksum: UInt64 = 0
        return try checked("dump routes", baseline_dump(socket, &checksum))
    }
}
