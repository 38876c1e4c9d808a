// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import LinuxSystemConfiguration
import SystemSupport
import Testing

struct ContextTests {
    let network = ScriptedNetwork.wired()

    private func far() throws -> SCNetworkReachability {
        try network.use { try target("198.51.100.1") }
    }

    @Test func `a context is retained when it is set, and released when it is taken away`() throws {
        let log = CallLog()
        let target = try far()
        log.set(on: target)
        #expect(log.retains == 1)
        #expect(log.releases == 0)
        SCNetworkReachabilitySetCallback(target, nil, nil)
        #expect(log.releases == 1)
    }

    @Test func `a replaced context is released`() throws {
        let (first, second) = (CallLog(), CallLog())
        let target = try far()
        first.set(on: target)
        second.set(on: target)
        #expect(first.releases == 1)
        #expect(second.retains == 1)
        #expect(second.releases == 0)
        SCNetworkReachabilitySetCallback(target, nil, nil)
    }

    @Test func `a target that goes away releases its context`() throws {
        let log = CallLog()
        try far().hold { log.set(on: $0) }
        #expect(log.retains == 1)
        #expect(log.releases == 1)
    }

    @Test func `around each call the context is retained and released once more`() async throws {
        let log = CallLog()
        let target = try far()
        log.set(on: target)
        try #require(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        network.setDefault(true)
        try await log.waitForCalls(1)
        log.drain()
        #expect(log.retains == 2)
        #expect(log.releases == 1)
        SCNetworkReachabilitySetCallback(target, nil, nil)
        SCNetworkReachabilitySetDispatchQueue(target, nil)
        #expect(log.releases == 2)
    }

    @Test func `what retain returns is what the callback gets`() async throws {
        let log = CallLog()
        let target = try far()
        // Any address: the retain below gives the log's own in its place.
        substitute.withLock { $0 = log }
        var context = SCNetworkReachabilityContext()
        context.info = UnsafeMutableRawPointer(bitPattern: 8)
        context.retain = { _ in
            let log = substitute.withLock { $0 }
            return UnsafeRawPointer(Unmanaged.passUnretained(log ?? CallLog()).toOpaque())
        }
        SCNetworkReachabilitySetCallback(target, CallLog.callback, &context)
        try #require(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        network.setDefault(true)
        try await log.waitForCalls(1)
        SCNetworkReachabilitySetCallback(target, nil, nil)
        SCNetworkReachabilitySetDispatchQueue(target, nil)
        log.drain()
        #expect(log.flags == [.reachable])
        substitute.withLock { $0 = nil }
    }

    @Test func `a callback without a context is called with nothing`() async throws {
        let target = try far()
        let queue = DispatchQueue(label: "bare")
        bareCalls.withLock { $0 = 0 }
        SCNetworkReachabilitySetCallback(
            target, { _, _, info in bareCalls.withLock { $0 += info == nil ? 1 : 1_000 } }, nil)
        try #require(SCNetworkReachabilitySetDispatchQueue(target, queue))
        network.setDefault(true)
        try await eventually("the call") { bareCalls.withLock { $0 } > 0 }
        #expect(bareCalls.withLock { $0 } == 1)
        SCNetworkReachabilitySetDispatchQueue(target, nil)
    }

    // MARK: Lives

    @Test func `a scheduled target keeps itself and goes on calling`() async throws {
        let log = CallLog()
        weak var seen: SCNetworkReachability?
        try far().hold { target in
            seen = target
            log.set(on: target)
            try #require(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        }
        network.setDefault(true)
        try await log.waitForCalls(1)
        let target = try #require(seen)
        SCNetworkReachabilitySetDispatchQueue(target, nil)
    }

    @Test func `once it is taken off and the queue has run empty, nothing keeps it or its context`()
        async throws
    {
        weak var seen: SCNetworkReachability?
        weak var seenLog: CallLog?
        let queue = DispatchQueue(label: "drained")
        try await far().holdAcross { target in
            let log = CallLog()
            (seen, seenLog) = (target, log)
            log.set(on: target)
            try #require(SCNetworkReachabilitySetDispatchQueue(target, queue))
            network.setDefault(true)
            try await log.waitForCalls(1)
            SCNetworkReachabilitySetCallback(target, nil, nil)
            SCNetworkReachabilitySetDispatchQueue(target, nil)
        }
        // The monitor's thread can be between two lines of the last evaluation.
        try await eventually("the target and its context are gone") {
            queue.sync {}
            return seen == nil && seenLog == nil
        }
    }

    @Test func `a weak reference and the identity of a target are those of an object`() throws {
        let target = try far()
        weak let again = target
        #expect(again === target)
        #expect(Unmanaged.passUnretained(target).toOpaque() == Unmanaged.passUnretained(target).toOpaque())
    }

    // MARK: Stress

    @Test func `retains and releases balance when threads set, schedule and take off at once`() async throws {
        let logs = (0..<8).map { _ in CallLog() }
        let target = try far()
        let queue = DispatchQueue(label: "stress")
        let network = network
        DispatchQueue.concurrentPerform(iterations: 40) { worker in
            for round in 0..<50 {
                switch (worker + round) % 5 {
                case 0, 1: logs[(worker + round) % logs.count].set(on: target)
                case 2: SCNetworkReachabilitySetDispatchQueue(target, round % 2 == 0 ? queue : nil)
                case 3: network.setDefault(round % 2 == 0)
                default:
                    var flags = SCNetworkReachabilityFlags()
                    _ = SCNetworkReachabilityGetFlags(target, &flags)
                    if round % 7 == 0 { SCNetworkReachabilitySetCallback(target, nil, nil) }
                }
            }
        }
        SCNetworkReachabilitySetCallback(target, nil, nil)
        SCNetworkReachabilitySetDispatchQueue(target, nil)
        for _ in 0..<4 { queue.sync {} }
        #expect(logs.reduce(0) { $0 + $1.retains } > 0)
        for log in logs { #expect(log.retains == log.releases) }
    }
}

private let substitute = Locked<CallLog?>(nil)
private let bareCalls = Locked(0)

extension SCNetworkReachability {
    /// Keeps the target for as long as a body runs, and no longer.
    fileprivate func hold(_ body: (SCNetworkReachability) throws -> Void) rethrows {
        try body(self)
    }

    fileprivate func holdAcross(_ body: (SCNetworkReachability) async throws -> Void) async rethrows {
        try await body(self)
    }
}
