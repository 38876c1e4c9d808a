// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Glibc
import NetlinkRecording
import SystemSupport

/// What it costs to find out who asked for a change: the processor time in which events are read and described.
///
/// A port that was looked up within the last second takes no lookup. Any other one takes a look at each process of the
/// host, or of the container.
struct Requesters {
    private static let rounds = 20
    /// The events of a round.
    private static let events = 2

    let host: Host

    func run() throws {
        var events = try LiveEvents()
        // The first lookup of the port, which the rounds repeat within a second.
        _ = try measure(&events, host)
        var known: [Double] = []
        for _ in 0..<Effort.scaled(Self.rounds) { known.append(try measure(&events, host)) }
        var unknown: [Double] = []
        for _ in 0..<Effort.scaled(Self.rounds) {
            let other = try Host()
            let began = baseline_now()
            unknown.append(try measure(&events, other))
            close(other.socket)
            // Lookups take a twentieth of the time at most: without the pause they would be left out.
            usleep(UInt32((baseline_now() - began) / 1_000) * 25)
        }
        let (one, lookup) = (known.median / Double(Self.events), unknown.median - known.median)
        try Row("event of a port that is known, of a processor", one * 1e6, unit: "us").print()
        try Row(
            "lookup of a port, of a processor", lookup * 1e3,
            unit: "ms, \(RunningProcess.all().count) processes"
        )
        .print()
    }

    /// The processor time in which the events of two changes are read, in seconds.
    private func measure(_ events: inout LiveEvents, _ author: Host) throws -> Double {
        try author.set(Host.behind & 0xffff_ff00, isUnreachable: true)
        try author.set(Host.behind & 0xffff_ff00, isUnreachable: false)
        let began = Replay.processorSeconds
        try events.read()
        return Replay.processorSeconds - began
    }
}
