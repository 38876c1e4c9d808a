// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import NetlinkReachability
internal import RoutingModel
internal import SystemSupport

/// The kernel's notifications with a gate: while it is shut, they queue up unread.
final class GatedFeed: ChangeFeed {
    private let kernel: KernelChanges
    private let gate: Locked<DispatchSemaphore?>
    let descriptor: Int32

    var refusedGroups: Int { kernel.refusedGroups }
    var counters: FeedCounters { kernel.counters }

    init(buffer: UInt32) throws(ReachabilityError) {
        kernel = try KernelChanges(buffer: buffer)
        descriptor = kernel.descriptor
        gate = Locked(nil)
    }

    /// Blocks the monitor's thread at its next read.
    func shut() {
        gate.withLock { $0 = $0 ?? DispatchSemaphore(value: 0) }
    }

    /// Unblocks it.
    func open() {
        let waiting = gate.withLock { $0.take() }
        waiting?.signal()
    }

    func read(_ body: (KernelNotification) -> Void) throws(ReachabilityError) -> FeedReading {
        gate.withLock { $0 }?.wait()
        return try kernel.read(body)
    }
}
