// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Duel
import Glibc
import NetlinkRoute
import RoutingModel

/// The time to read queued notifications, against a bare loop that reads the same ones.
struct Draining {
    private static let events: Int32 = 8_000
    private static let rounds = 30

    let host: Host

    func run() throws {
        var times: [(ours: Double, theirs: Double)] = []
        let feed = try KernelChanges()
        let listener = try checked("listen", baseline_listen())
        defer { close(listener) }
        for round in 0..<Effort.scaled(Self.rounds) {
            try host.set(
                first: 0x6400_0000, length: 24, count: Self.events, areUnreachable: round.isMultiple(of: 2))
            var (our, their) = (0.0, 0.0)
            if round % 4 < 2 {
                (our, their) = (try drain(feed), try drain(listener))
            } else {
                (their, our) = (try drain(listener), try drain(feed))
            }
            times.append((our, their))
        }
        try Table.print(
            Row(
                "reading a queued route event", ours: "KernelChanges", theirs: "C recv loop",
                Outcome(rounds: times), goal: .draining)
        )
    }

    /// The nanoseconds for each notification.
    private func drain(_ feed: KernelChanges) throws -> Double {
        var count = 0
        let began = baseline_now()
        while try feed.read({ _ in count += 1 }) == .changes {}
        return try each(count, since: began)
    }

    private func drain(_ listener: Int32) throws -> Double {
        var checksum: UInt64 = 0
        let began = baseline_now()
        let count = try checked("read", baseline_drain(listener, &checksum))
        return try each(Int(count), since: began)
    }

    private func each(_ count: Int, since began: Int64) throws -> Double {
        let took = Double(baseline_now() - began)
        guard count == Int(Self.events) else { throw MonitoringFailure("\(count) notifications came") }
        return took / Double(count)
    }
}
