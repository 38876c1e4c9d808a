// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Duel
import Glibc
import NetlinkRoute
import RoutingModel

/// The speed of reading queued notifications, against a bare loop that reads the same ones.
struct Draining {
    private static let events: Int32 = 8_000
    private static let rounds = 30

    let host: Host

    func run() throws {
        var ratios: [Double] = []
        var (ours, theirs): ([Double], [Double]) = ([], [])
        let feed = try KernelChanges()
        let listener = try checked("listen", baseline_listen())
        defer { close(listener) }
        for round in 0..<Self.rounds {
            try host.set(
                first: 0x6400_0000, length: 24, count: Self.events, areUnreachable: round.isMultiple(of: 2))
            var (our, their) = (0.0, 0.0)
            if round % 4 < 2 {
                (our, their) = (try drain(feed), try drain(listener))
            } else {
                (their, our) = (try drain(listener), try drain(feed))
            }
            ours.append(our)
            theirs.append(their)
            ratios.append(our / their)
        }
        tell(
            "draining queued route events   \(Int(ours.quantile(0.5)))/s   bare recv loop "
                + "\(Int(theirs.quantile(0.5)))/s   ratio \(ratios.quantile(0.5).rounded2) (at least 0.5)"
        )
    }

    /// Announcements a second.
    private func drain(_ feed: KernelChanges) throws -> Double {
        var count = 0
        let began = baseline_now()
        while try feed.read({ _ in count += 1 }) == .changes {}
        return try rate(count, since: began)
    }

    private func drain(_ listener: Int32) throws -> Double {
        var checksum: UInt64 = 0
        let began = baseline_now()
        let count = try checked("read", baseline_drain(listener, &checksum))
        return try rate(Int(count), since: began)
    }

    private func rate(_ count: Int, since began: Int64) throws -> Double {
        let took = Double(baseline_now() - began)
        guard count == Int(Self.events) else { throw MonitoringFailure("\(count) notifications came") }
        return Double(count) * 1e9 / took
    }
}
