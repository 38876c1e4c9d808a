// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import NetlinkRoute
internal import RoutingModel
internal import SystemSupport

/// The kernel's announcements, which nobody reads while the gate is shut: so a test decides what queues up.
final class GatedFeed: ChangeFeed {
    private let kernel: KernelChanges
    private let gate: Locked<DispatchSemaphore?>
    let descriptor: Int32

    var refusedGroups: Int { kernel.refusedGroups }
    var counters: FeedCounters { kernel.counters }

    init(buffer: UInt32) throws(RoutingFault) {
        kernel = try KernelChanges(buffer: buffer)
        descriptor = kernel.descriptor
        gate = Locked(nil)
    }

    /// Has the monitor's thread wait the next time that it reads.
    func shut() {
        gate.withLock { $0 = $0 ?? DispatchSemaphore(value: 0) }
    }

    /// Lets it read again.
    func open() {
        let waiting = gate.withLock { $0.take() }
        waiting?.signal()
    }

    func read(_ body: (KernelNotification) -> Void) throws(RoutingFault) -> FeedReading {
        gate.withLock { $0 }?.wait()
        return try kernel.read(body)
    }
}
