// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import LinuxSystemConfiguration
import NetlinkReachability
import RoutingModel
import SystemSupport
import Testing

struct CallbackTests {
    let network = ScriptedNetwork.wired()
    let log = CallLog()

    private func far() throws -> SCNetworkReachability {
        try network.use { try target("198.51.100.1") }
    }

    private func name(_ text: String) throws -> SCNetworkReachability {
        try network.use { try #require(SCNetworkReachabilityCreateWithName(nil, text)) }
    }

    private func end(_ target: SCNetworkReachability) {
        SCNetworkReachabilitySetCallback(target, nil, nil)
        SCNetworkReachabilitySetDispatchQueue(target, nil)
    }

    /// Waits until a change has gone through a monitor of its own, and the queue.
    private func pass() async throws {
        let marker = CallLog()
        let other = try far()
        let before = try flags(of: other)
        marker.set(on: other)
        try #require(SCNetworkReachabilitySetDispatchQueue(other, marker.queue))
        network.setDefault(before.isEmpty)
        try await marker.waitForCalls(1)
        network.setDefault(!before.isEmpty)
        try await marker.waitForCalls(2)
        end(other)
        log.drain()
    }

    // MARK: Order

    @Test func `a callback that is set before the queue is called`() async throws {
        let target = try far()
        log.set(on: target)
        #expect(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        network.setDefault(true)
        try await log.waitForCalls(1)
        #expect(log.flags == [.reachable])
        end(target)
    }

    @Test func `a callback that is set after the queue is called`() async throws {
        let target = try far()
        #expect(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        log.set(on: target)
        network.setDefault(true)
        try await log.waitForCalls(1)
        #expect(log.flags == [.reachable])
        end(target)
    }

    @Test func `a change before the callback was set is delivered`() async throws {
        let target = try far()
        try #require(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        network.setDefault(true)
        try await eventually("the route") { (try? flags(of: target)) == .reachable }
        log.drain()
        log.set(on: target)
        try await log.waitForCalls(1)
        #expect(log.flags == [.reachable])
        end(target)
    }

    // MARK: The first call

    @Test func `an address delivers no first call, only changes`() async throws {
        let target = try far()
        log.set(on: target)
        try #require(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        log.drain()
        #expect(log.flags.isEmpty)
        network.setDefault(true)
        try await log.waitForCalls(1)
        network.setDefault(false)
        try await log.waitForCalls(2)
        #expect(log.flags == [.reachable, []])
        end(target)
    }

    @Test func `a change while the target is being scheduled is delivered`() async throws {
        let target = try far()
        log.set(on: target)
        network.routing.afterNext { [network] in network.setDefault(true) }
        try #require(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        try await log.waitForCalls(1)
        #expect(log.flags == [.reachable])
        end(target)
    }

    @Test func `a name delivers its first call once`() async throws {
        network.setDefault(true)
        network.resolver.set("known", .addresses([IPAddress(198, 51, 100, 7)]))
        let target = try name("known")
        log.set(on: target)
        try #require(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        try await log.waitForCalls(1)
        try await pass()
        #expect(log.flags.first == .reachable)
        end(target)
    }

    @Test func `a name whose flags were read is called back only for a change`() async throws {
        network.setDefault(true)
        network.resolver.set("known", .addresses([IPAddress(198, 51, 100, 7)]))
        let target = try name("known")
        try #require(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        #expect(try flags(of: target) == .reachable)
        log.set(on: target)
        network.setDefault(false)
        try await log.waitForCalls(1)
        #expect(log.flags == [[]])
        end(target)
    }

    @Test func `localhost delivers its first call once and no other`() async throws {
        let target = try name("localhost")
        log.set(on: target)
        try #require(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        try await log.waitForCalls(1)
        try await pass()
        #expect(log.flags == [[.reachable, .isLocalAddress, .isDirect]])
        end(target)
    }

    @Test(arguments: [ReachabilityTarget.Resolution.notFound, .failed("no server"), .timedOut])
    func `a name without an address turns from the default path's flags to none`(
        resolution: ReachabilityTarget.Resolution
    )
        async throws
    {
        network.setDefault(true)
        network.resolver.set("unknown", resolution)
        let target = try name("unknown")
        log.set(on: target)
        #expect(try flags(of: target) == .reachable)
        try #require(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        try await log.waitForCalls(1)
        #expect(log.flags == [[]])
        #expect(try flags(of: target) == [])
        end(target)
    }

    @Test func `each start of a name has one first call, equal or not`() async throws {
        let target = try name("localhost")
        log.set(on: target)
        for start in 1...3 {
            try #require(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
            try await log.waitForCalls(start)
            try #require(SCNetworkReachabilitySetDispatchQueue(target, nil))
        }
        log.drain()
        #expect(log.flags.count == 3)
    }

    // MARK: Flags while scheduled

    @Test func `a scheduled target returns its last flags without a query`() async throws {
        let target = try far()
        log.set(on: target)
        try #require(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        network.setDefault(true)
        try await log.waitForCalls(1)
        network.routing.fail(ReachabilityError(operation: "ask", number: 105))
        #expect(try flags(of: target) == .reachable)
        end(target)
        var flags = SCNetworkReachabilityFlags()
        #expect(!SCNetworkReachabilityGetFlags(target, &flags))
    }

    // MARK: The end

    @Test func `after the target is taken off its queue on that queue nothing is called`() async throws {
        let target = try far()
        let (log, network) = (log, network)
        log.set(on: target)
        try #require(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        log.whenCalled.withLock { body in
            body = { target in
                // Another call is due as soon as this one is over, or it would be.
                network.setDefault(false)
                SCNetworkReachabilitySetDispatchQueue(target, nil)
            }
        }
        network.setDefault(true)
        try await log.waitForCalls(1)
        log.whenCalled.withLock { $0 = nil }
        try await pass()
        #expect(log.flags == [.reachable])
    }

    @Test func `a scheduled target that the program released is called until it is unscheduled`() async throws
    {
        let log = log
        weak let target = try startedInThisFunction()
        #expect(target != nil)
        for round in 1...10 {
            network.setDefault(round % 2 == 1)
            try await log.waitForCalls(round)
        }
        log.drain()
        #expect(log.flags == Array(repeating: [.reachable, []], count: 5).flatMap(\.self))
        if let target { end(target) }
        log.drain()
        try await eventually("the end of the target") { target == nil }
        #expect(target == nil)
    }

    private func startedInThisFunction() throws -> SCNetworkReachability {
        let target = try far()
        log.set(on: target)
        try #require(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        return target
    }

    @Test func `after the callback is taken away on the queue nothing is called`() async throws {
        let target = try far()
        let log = log
        log.set(on: target)
        try #require(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        log.queue.suspend()
        network.setDefault(true)
        try await eventually("the route") { (try? flags(of: target)) == .reachable }
        SCNetworkReachabilitySetCallback(target, nil, nil)
        log.queue.resume()
        log.drain()
        #expect(log.flags.isEmpty)
        SCNetworkReachabilitySetDispatchQueue(target, nil)
    }

    @Test func `a replaced callback is called in place of the old one`() async throws {
        let target = try far()
        let second = CallLog()
        log.set(on: target)
        try #require(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        second.set(on: target)
        network.setDefault(true)
        try await second.waitForCalls(1)
        #expect(log.flags.isEmpty)
        end(target)
    }

    @Test func `a restart inside the callback goes on`() async throws {
        let target = try far()
        let log = log
        log.set(on: target)
        try #require(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        log.whenCalled.withLock { body in
            body = { target in
                SCNetworkReachabilitySetDispatchQueue(target, nil)
                SCNetworkReachabilitySetDispatchQueue(target, log.queue)
            }
        }
        for (round, isThere) in [true, false, true, false].enumerated() {
            network.setDefault(isThere)
            try await log.waitForCalls(round + 1)
            log.drain()
        }
        #expect(log.flags == [.reachable, [], .reachable, []])
        log.whenCalled.withLock { $0 = nil }
        end(target)
    }

    // MARK: Refusals

    @Test func `a target is on one queue only`() throws {
        let target = try far()
        #expect(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        #expect(!SCNetworkReachabilitySetDispatchQueue(target, DispatchQueue(label: "other")))
        #expect(SCError() == kSCStatusInvalidArgument)
        #expect(!SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        #expect(SCNetworkReachabilitySetDispatchQueue(target, nil))
    }

    @Test func `a target that is on no queue cannot be taken off one`() throws {
        let target = try far()
        #expect(!SCNetworkReachabilitySetDispatchQueue(target, nil))
        #expect(SCError() == kSCStatusInvalidArgument)
        #expect(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        #expect(SCNetworkReachabilitySetDispatchQueue(target, nil))
        #expect(!SCNetworkReachabilitySetDispatchQueue(target, nil))
    }

    @Test func `a start that fails leaves the target off the queue`() throws {
        let target = try far()
        network.routing.fail(ReachabilityError(operation: "ask", number: 105))
        #expect(!SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        #expect(SCError() == kSCStatusFailed)
        network.routing.fail(nil)
        #expect(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        end(target)
    }
}
