// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import NetlinkRoute
import RoutingModel
import SystemSupport
import Testing

@testable import NetlinkReachability

/// Holds a handle that a handler can release.
private final class Box: Sendable {
    let handle = Locked<NetworkReachability?>(nil)

    func release() {
        // Released outside the lock.
        let released = handle.withLock { $0.take() }
        withExtendedLifetime(released) {}
    }
}

/// Calls a closure when it is released.
private final class Witness: Sendable {
    let onRelease: @Sendable () -> Void

    init(_ onRelease: @escaping @Sendable () -> Void) {
        self.onRelease = onRelease
    }

    deinit {
        onRelease()
    }
}

struct ReentrancyTests {
    let network = ScriptedNetwork()
    let recorder = Recorder()

    @Test func `a handler can stop its handle`() async throws {
        let reachability = try network.handle()
        try reachability.start(.flags, on: .queue(recorder.queue)) { [recorder, weak reachability] result in
            guard case .success(let flags) = result else { return }
            recorder.record(flags)
            reachability?.stop()
        }
        _ = recorder.all
        network.setRoute(true)
        await network.source.monitor.settle()
        #expect(recorder.all == [[]])
        #expect(reachability.currentFlags == nil)
    }

    @Test func `a handler can restart its handle`() async throws {
        let reachability = try network.handle()
        let recorder = recorder
        try reachability.start(.flags, on: .queue(recorder.queue)) { [weak reachability] _ in
            try? reachability?.start(.flags, on: .queue(recorder.queue), recorder.handler)
        }
        _ = recorder.all
        network.setRoute(true)
        await network.source.monitor.settle()
        #expect(recorder.all == [[], [.reachable, .isDirect]])
        reachability.stop()
    }

    @Test func `a handler can release its handle`() async throws {
        let box = Box()
        let recorder = recorder
        do {
            let reachability = try network.handle()
            box.handle.withLock { $0 = reachability }
            try reachability.start(.flags, on: .queue(recorder.queue)) { result in
                guard case .success(let flags) = result else { return }
                recorder.record(flags)
                box.release()
            }
        }
        _ = recorder.all
        network.setRoute(true)
        await network.source.monitor.settle()
        #expect(recorder.all == [[]])
        #expect(box.handle.withLock { $0 == nil })
    }

    @Test func `releasing the handle stops it`() async throws {
        var reachability: NetworkReachability? = try network.handle()
        try reachability?.start(.flags, on: .queue(recorder.queue), recorder.handler)
        #expect(recorder.all == [[]])
        reachability = nil
        network.setRoute(true)
        await network.source.monitor.settle()
        #expect(recorder.all == [[]])
    }

    @Test func `stop releases the handler`() throws {
        let isReleased = Locked(false)
        let reachability = try network.handle()
        do {
            let witness = Witness { isReleased.withLock { $0 = true } }
            try reachability.start(.flags, on: .queue(recorder.queue)) { _ in withExtendedLifetime(witness) {}
            }
        }
        _ = recorder.all
        #expect(!isReleased.withLock { $0 })
        reachability.stop()
        _ = recorder.all
        #expect(isReleased.withLock { $0 })
    }

    @Test func `a handler can stop the handle while it is released`() throws {
        let reachability = try network.handle()
        do {
            let witness = Witness { [weak reachability] in reachability?.stop() }
            try reachability.start(.flags, on: .queue(recorder.queue)) { _ in withExtendedLifetime(witness) {}
            }
        }
        try reachability.start(.flags, on: .queue(recorder.queue), recorder.handler)
        _ = recorder.all
        reachability.stop()
        #expect(reachability.currentFlags == nil)
    }

    @Test func `a handler can evaluate its handle`() throws {
        let reachability = try network.handle()
        let asked = Locked<ReachabilityFlags?>(nil)
        try reachability.start(.flags, on: .queue(recorder.queue)) { [weak reachability] _ in
            let flags = try? reachability?.flags()
            asked.withLock { $0 = flags }
        }
        _ = recorder.all
        #expect(asked.withLock { $0 } == [])
        reachability.stop()
    }
}
