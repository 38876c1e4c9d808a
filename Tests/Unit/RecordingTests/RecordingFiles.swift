// SPDX-License-Identifier: Apache-2.0

import Foundation
import NetlinkReachability

@testable import NetlinkRecording

/// A folder of a test's own, removed with the value.
final class RecordingFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "netflags-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    /// The folder as a recording.
    var recording: Recording { Recording(path: url.path()) }

    /// Writes a file of a recorder.
    func write(_ number: UInt64, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: url.appending(path: RecordingDirectory.name(number)))
    }

    /// Writes another file, and returns it as a recording.
    func file(_ bytes: [UInt8], _ name: String = "file.rtnl") throws -> Recording {
        let file = url.appending(path: name)
        try Data(bytes).write(to: file)
        return Recording(path: file.path())
    }
}

extension RecordedScenario {
    /// The scenario as `netflags record --events` would have written it, from its first dump on.
    func recording() throws -> [UInt8] {
        guard let first = networks.first else { return [] }
        let start = try first.meta().time
        return try first.markedRecording(at: start) + events(after: start)
    }

    /// The same in several parts, cut between two time stamps.
    func parts() throws -> (dump: [UInt8], events: [[UInt8]]) {
        guard let first = networks.first else { return ([], []) }
        let start = try first.meta().time
        var events: [[UInt8]] = []
        forEachMessage(try self.events(after: start)) { message in
            if message.type == RecordingFormat.timeStamp { events.append([]) }
            if events.isEmpty { events.append([]) }
            events[events.count - 1].appendPadded(message.bytes)
        }
        return (try first.markedRecording(at: start), events)
    }
}

extension Recording {
    /// All steps of a replay.
    func steps(
        _ targets: [ReachabilityTarget] = [],
        from start: Time? = nil,
        to end: Time? = nil,
        onChangeOf changes: ReachabilityReport.Change = .flags,
        yieldsEvents: Bool = false
    ) throws -> [Replay<ReachabilityReport>.Step] {
        var replay = try replay(
            of: targets.map { .report(of: $0, onChangeOf: changes) }, from: start, to: end,
            yieldsEvents: yieldsEvents)
        var steps: [Replay<ReachabilityReport>.Step] = []
        while let step = try replay.next() { steps.append(step) }
        return steps
    }
}

extension [Recording.Replay<ReachabilityReport>.Step] {
    var changes: [Recording.Change<ReachabilityReport>] {
        compactMap { if case .change(let change) = $0 { change } else { nil } }
    }

    var marks: [Recording.Mark.Kind] {
        compactMap { if case .mark(let mark) = $0 { mark.kind } else { nil } }
    }

    var resumptions: [Recording.Time] {
        compactMap { if case .resumed(let time) = $0 { time } else { nil } }
    }

    var events: [Recording.Event] {
        compactMap { if case .event(let event) = $0 { event } else { nil } }
    }
}
