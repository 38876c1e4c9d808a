// SPDX-License-Identifier: Apache-2.0

internal import CoreFoundation
internal import Foundation
internal import SystemSupport

/// A run loop and one of its modes.
///
/// Sendable: the functions used here, CFRunLoopAddSource, CFRunLoopRemoveSource and CFRunLoopWakeUp, can be called
/// from any thread and take the lock of the run loop.
struct RunLoopSpot: @unchecked Sendable, Equatable {
    let loop: CFRunLoop
    let mode: RunLoopModeName

    static func == (left: RunLoopSpot, right: RunLoopSpot) -> Bool {
        left.loop === right.loop && left.mode == right.mode
    }
}

/// A source on any number of run loops.
///
/// When it is signalled, one of them performs the call.
///
/// Sendable: `source` is never replaced, and the functions that are called with it take its lock, as those of
/// ``RunLoopSpot`` do. A lock protects everything else.
final class RunLoopDelivery: @unchecked Sendable {
    private let source: CFRunLoopSource?
    private let spots = Locked<[RunLoopSpot]>([])

    /// Creates a source that is on no run loop.
    ///
    /// - Parameter body: Called by a run loop. It is retained until the source is invalidated and the last call has
    ///   returned.
    init(_ body: @escaping @Sendable () -> Void) {
        let call = Unmanaged.passRetained(KeptCall(body))
        var context = CFRunLoopSourceContext()
        context.info = call.toOpaque()
        context.release = { info in
            if let info { Unmanaged<KeptCall>.fromOpaque(info).release() }
        }
        context.perform = { info in
            if let info { Unmanaged<KeptCall>.fromOpaque(info).takeUnretainedValue().run() }
        }
        source = CFRunLoopSourceCreate(kCFAllocatorDefault, 0, &context)
        // Without a source, nothing else releases the call.
        if source == nil { call.release() }
    }

    /// Whether the source is on no run loop.
    var isNowhere: Bool {
        spots.withLock { $0.isEmpty }
    }

    /// Adds the source to a run loop, even if it is on that run loop already.
    ///
    /// - Returns: Whether the source was added.
    func add(_ spot: RunLoopSpot) -> Bool {
        guard let source, let mode = spot.mode.coreFoundation else { return false }
        let isNew = spots.withLock { spots in
            let isNew = !spots.contains(spot)
            spots.append(spot)
            return isNew
        }
        guard isNew else { return true }
        CFRunLoopAddSource(spot.loop, source, mode)
        // The source can have been signalled before it was added, and a sleeping run loop does not check.
        CFRunLoopWakeUp(spot.loop)
        return true
    }

    /// Removes the source from a run loop, once.
    ///
    /// - Returns: Whether the source was on the run loop.
    func remove(_ spot: RunLoopSpot) -> Bool {
        let (wasThere, isThere) = spots.withLock { spots in
            guard let index = spots.firstIndex(of: spot) else { return (false, false) }
            spots.remove(at: index)
            return (true, spots.contains(spot))
        }
        guard let source, let mode = spot.mode.coreFoundation, wasThere else { return wasThere }
        if !isThere { CFRunLoopRemoveSource(spot.loop, source, mode) }
        return true
    }

    /// Signals one of the run loops to perform the call.
    func signal() {
        guard let source else { return }
        CFRunLoopSourceSignal(source)
        for spot in spots.withLock({ $0 }) { CFRunLoopWakeUp(spot.loop) }
    }

    /// Removes the source from every run loop, permanently.
    func invalidate() {
        if let source { CFRunLoopSourceInvalidate(source) }
    }
}
