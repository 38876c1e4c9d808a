// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Duel
import NetlinkReachability
import Synchronization

/// Asks one handle from several threads at once.
final class Asker: Sendable {
    private let reachability: NetworkReachability
    private let count = Atomic(0)
    private let failure = Mutex<ReachabilityError?>(nil)

    init(_ reachability: NetworkReachability) {
        self.reachability = reachability
    }

    /// Asks a number of times on each thread; returns the nanoseconds that all took together.
    func ask(_ count: Int, onThreads threads: Int32) throws -> Double {
        self.count.store(count, ordering: .releasing)
        let took = baseline_at_once(
            threads,
            { _, context in
                guard let context else { return }
                Unmanaged<Asker>.fromOpaque(context).takeUnretainedValue().ask()
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
        if let failure = failure.withLock({ $0 }) { throw failure }
        return Double(try checked("ask on \(threads) threads", took))
    }

    private func ask() {
        do throws(ReachabilityError) {
            for _ in 0..<count.load(ordering: .acquiring) { keep(try reachability.flags()) }
        } catch {
            failure.withLock { $0 = error }
        }
    }
}
