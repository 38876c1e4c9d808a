// SPDX-License-Identifier: Apache-2.0

internal import CoreFoundation
internal import Foundation
internal import NetlinkRoute
internal import SystemSupport

/// A run loop and a mode of it.
///
/// Sendable, and this is the proof: Core Foundation's run loops can be used from any thread by the functions that
/// are used here, CFRunLoopAddSource, CFRunLoopRemoveSource and CFRunLoopWakeUp; they take the loop's own lock.
struct RunLoopSpot: @unchecked Sendable, Equatable {
    let loop: CFRunLoop
    let mode: RunLoopModeName

    static func == (left: RunLoopSpot, right: RunLoopSpot) -> Bool {
        left.loop === right.loop && left.mode == right.mode
    }
}

/// A source on any number of run loops, one of which calls when it is signalled.
///
/// Sendable, and this is the proof: `source` is never replaced, and the functions that are used on it take its lock,
/// as those of ``RunLoopSpot`` do. Everything else is behind a lock of its own.
final class RunLoopDelivery: @unchecked Sendable {
    private let source: CFRunLoopSource?
    private let spots = Locked<[RunLoopSpot]>([])

    /// Makes one that is on no run loop.
    ///
    /// - Parameter body: Called by a run loop; it is kept until the delivery is invalidated and its last call over.
    init(_ body: @escaping @Sendable () -> Void) {
        source = RunLoopCall(body).makeSource()
    }

    /// Whether it is on no run loop.
    var isNowhere: Bool {
        spots.withLock { $0.isEmpty }
    }

    /// Puts it on a run loop, once more if it is there already.
    ///
    /// - Returns: Whether that could be done.
    func add(_ spot: RunLoopSpot) -> Bool {
        guard let source, let mode = spot.mode.coreFoundation else { return false }
        let isNew = spots.withLock { spots in
            let isNew = !spots.contains(spot)
            spots.append(spot)
            return isNew
        }
        guard isNew else { return true }
        CFRunLoopAddSource(spot.loop, source, mode)
        // It can have been signalled before it came here, and a loop that sleeps would not look.
        CFRunLoopWakeUp(spot.loop)
        return true
    }

    /// Takes it off a run loop, once.
    ///
    /// - Returns: Whether it was there.
    func remove(_ spot: RunLoopSpot) -> Bool {
        let (wasThere, isThere) = spots.withLock { spots in
            guard let place = spots.firstIndex(of: spot) else { return (false, false) }
            spots.remove(at: place)
            return (true, spots.contains(spot))
        }
        guard let source, let mode = spot.mode.coreFoundation, wasThere else { return wasThere }
        if !isThere { CFRunLoopRemoveSource(spot.loop, source, mode) }
        return true
    }

    /// Has one of the run loops call, soon.
    func signal() {
        guard let source else { return }
        CFRunLoopSourceSignal(source)
        for spot in spots.withLock({ $0 }) { CFRunLoopWakeUp(spot.loop) }
    }

    /// Takes it off every run loop, for good.
    func invalidate() {
        if let source { CFRunLoopSourceInvalidate(source) }
    }
}

/// What a source keeps and calls.
private final class RunLoopCall: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }

    /// Makes a source that retains this object.
    func makeSource() -> CFRunLoopSource? {
        var context = CFRunLoopSourceContext()
        context.info = Unmanaged.passUnretained(self).toOpaque()
        context.retain = { info in
            guard let info else { return nil }
            return UnsafeRawPointer(Unmanaged<RunLoopCall>.fromOpaque(info).retain().toOpaque())
        }
        context.release = { info in
            guard let info else { return }
            Unmanaged<RunLoopCall>.fromOpaque(info).release()
        }
        context.perform = { info in
            guard let info else { return }
            Unmanaged<RunLoopCall>.fromOpaque(info).takeUnretainedValue().body()
        }
        return CFRunLoopSourceCreate(kCFAllocatorDefault, 0, &context)
    }
}
