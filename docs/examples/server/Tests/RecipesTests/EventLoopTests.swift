// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NetlinkReachability
import NetlinkReachabilityTestKit
import Recipes
import Synchronization
import Testing

@Suite
struct EventLoopTests {
    private let network = SimulatedNetwork(.wired)
    private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

    @Test("a handler runs on the event loop, in order")
    func handler() async throws {
        let reachability = try NetworkReachability(host: "198.51.100.1", source: network.source)
        let calls = Calls()
        let observation = try reachability.observe(on: eventLoop) { [eventLoop] result in
            guard case .success(let flags) = result else { return }
            calls.add(flags, isOnEventLoop: eventLoop.inEventLoop)
        }
        try await network.settle()
        network.apply(.offline)
        try await network.settle()
        // The event loop runs its tasks in order: this one comes after both calls.
        try await eventLoop.submit {}.get()
        #expect(calls.flags == [[.reachable], []])
        #expect(calls.allOnEventLoop)
        observation.cancel()
    }

    @Test("a future completes once the target is reachable")
    func future() async throws {
        network.apply(.offline)
        let reachability = try NetworkReachability(host: "198.51.100.1", source: network.source)
        let future = reachability.whenReachable(timeout: .seconds(60), on: eventLoop)
        try await network.settle { network.listenerCount == 1 }
        network.apply(.wired)
        try await network.advance(by: .milliseconds(250))
        #expect(try await future.get() == [.reachable])
    }
}

/// Collects the calls of a handler.
private final class Calls: Sendable {
    private let state = Mutex<(flags: [ReachabilityFlags], allOnEventLoop: Bool)>(([], true))

    func add(_ flags: ReachabilityFlags, isOnEventLoop: Bool) {
        state.withLock { state in
            state.flags.append(flags)
            state.allOnEventLoop = state.allOnEventLoop && isOnEventLoop
        }
    }

    var flags: [ReachabilityFlags] { state.withLock { $0.flags } }
    var allOnEventLoop: Bool { state.withLock { $0.allOnEventLoop } }
}
