// SPDX-License-Identifier: Apache-2.0

import Fakes
import Foundation
import LinuxSystemConfiguration
import SystemSupport
import Testing

struct RunLoopTests {
    let network = ScriptedNetwork.wired()
    let log = CallLog()

    private func far() throws -> SCNetworkReachability {
        try network.use { try target("198.51.100.1") }
    }

    @Test func `a callback is called by the run loop on which the target is`() async throws {
        let runLoop = await RunLoopThread.start()
        let target = try far()
        log.set(on: target)
        #expect(
            SCNetworkReachabilityScheduleWithRunLoop(target, runLoop.loop, CFRunLoopMode.defaultMode.rawValue)
        )
        network.setDefault(true)
        try await log.waitForCalls(1)
        #expect(log.threads == [runLoop.thread])
        #expect(
            SCNetworkReachabilityUnscheduleFromRunLoop(
                target, runLoop.loop, CFRunLoopMode.defaultMode.rawValue))
        runLoop.stop()
    }

    @Test func `a callback is called in the mode in which the target is, and in no other`() async throws {
        let runLoop = await RunLoopThread.start(in: "other")
        let (target, marker) = (try far(), CallLog())
        let other = try far()
        log.set(on: target)
        marker.set(on: other)
        let mode = CFRunLoopMode.defaultMode.rawValue
        #expect(SCNetworkReachabilityScheduleWithRunLoop(target, runLoop.loop, mode))
        #expect(SCNetworkReachabilityScheduleWithRunLoop(other, runLoop.loop, "other" as CFString))
        network.setDefault(true)
        try await marker.waitForCalls(1)
        try await eventually("the route") { (try? flags(of: target)) == .reachable }
        network.setDefault(false)
        try await marker.waitForCalls(2)
        #expect(log.flags.isEmpty)
        network.setDefault(true)
        try await marker.waitForCalls(3)
        runLoop.run(in: "kCFRunLoopDefaultMode")
        try await log.waitForCalls(1)
        #expect(log.flags == [.reachable])
        SCNetworkReachabilityUnscheduleFromRunLoop(target, runLoop.loop, mode)
        SCNetworkReachabilityUnscheduleFromRunLoop(other, runLoop.loop, "other" as CFString)
        runLoop.stop()
    }

    @Test func `the common modes are the default mode too`() async throws {
        let runLoop = await RunLoopThread.start()
        let target = try far()
        log.set(on: target)
        let mode = CFRunLoopMode.commonModes.rawValue
        #expect(SCNetworkReachabilityScheduleWithRunLoop(target, runLoop.loop, mode))
        network.setDefault(true)
        try await log.waitForCalls(1)
        #expect(SCNetworkReachabilityUnscheduleFromRunLoop(target, runLoop.loop, mode))
        runLoop.stop()
    }

    @Test func `on the same run loop twice, it is taken off twice`() async throws {
        let runLoop = await RunLoopThread.start()
        let target = try far()
        let mode = CFRunLoopMode.defaultMode.rawValue
        log.set(on: target)
        #expect(SCNetworkReachabilityScheduleWithRunLoop(target, runLoop.loop, mode))
        #expect(SCNetworkReachabilityScheduleWithRunLoop(target, runLoop.loop, mode))
        #expect(SCNetworkReachabilityUnscheduleFromRunLoop(target, runLoop.loop, mode))
        network.setDefault(true)
        try await log.waitForCalls(1)
        #expect(SCNetworkReachabilityUnscheduleFromRunLoop(target, runLoop.loop, mode))
        #expect(!SCNetworkReachabilityUnscheduleFromRunLoop(target, runLoop.loop, mode))
        #expect(SCError() == kSCStatusInvalidArgument)
        runLoop.stop()
    }

    @Test func `of two run loops one calls`() async throws {
        let (first, second) = (await RunLoopThread.start(), await RunLoopThread.start())
        let target = try far()
        let mode = CFRunLoopMode.defaultMode.rawValue
        log.set(on: target)
        #expect(SCNetworkReachabilityScheduleWithRunLoop(target, first.loop, mode))
        #expect(SCNetworkReachabilityScheduleWithRunLoop(target, second.loop, mode))
        for (round, isThere) in [true, false, true].enumerated() {
            network.setDefault(isThere)
            try await log.waitForCalls(round + 1)
        }
        #expect(log.flags == [.reachable, [], .reachable])
        #expect(Set(log.threads).isSubset(of: [first.thread, second.thread]))
        SCNetworkReachabilityUnscheduleFromRunLoop(target, first.loop, mode)
        SCNetworkReachabilityUnscheduleFromRunLoop(target, second.loop, mode)
        first.stop()
        second.stop()
    }

    @Test func `a run loop to which the target comes while a call is due calls`() async throws {
        let (first, second) = (await RunLoopThread.start(in: "other"), await RunLoopThread.start(turn: 300))
        let (target, other, marker) = (try far(), try far(), CallLog())
        let mode = CFRunLoopMode.defaultMode.rawValue
        log.set(on: target)
        marker.set(on: other)
        try #require(SCNetworkReachabilityScheduleWithRunLoop(target, first.loop, mode))
        try #require(SCNetworkReachabilitySetDispatchQueue(other, marker.queue))
        for (round, isThere) in [true, false, true].enumerated() {
            network.setDefault(isThere)
            try await marker.waitForCalls(round + 1)
        }
        try await eventually("the route") { (try? flags(of: target)) == .reachable }
        try #require(SCNetworkReachabilityScheduleWithRunLoop(target, second.loop, mode))
        try await log.waitForCalls(1)
        #expect(log.threads == [second.thread])
        SCNetworkReachabilityUnscheduleFromRunLoop(target, first.loop, mode)
        SCNetworkReachabilityUnscheduleFromRunLoop(target, second.loop, mode)
        SCNetworkReachabilitySetDispatchQueue(other, nil)
        first.stop()
        second.stop()
    }

    @Test func `a target is on queues or on run loops, not on both`() async throws {
        let runLoop = await RunLoopThread.start()
        let target = try far()
        let mode = CFRunLoopMode.defaultMode.rawValue
        #expect(SCNetworkReachabilityScheduleWithRunLoop(target, runLoop.loop, mode))
        #expect(!SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        #expect(SCError() == kSCStatusInvalidArgument)
        #expect(!SCNetworkReachabilitySetDispatchQueue(target, nil))
        #expect(SCNetworkReachabilityUnscheduleFromRunLoop(target, runLoop.loop, mode))
        #expect(SCNetworkReachabilitySetDispatchQueue(target, log.queue))
        #expect(!SCNetworkReachabilityScheduleWithRunLoop(target, runLoop.loop, mode))
        #expect(!SCNetworkReachabilityUnscheduleFromRunLoop(target, runLoop.loop, mode))
        #expect(SCNetworkReachabilitySetDispatchQueue(target, nil))
        runLoop.stop()
    }

    @Test func `nothing keeps a target that was taken off its run loop`() async throws {
        let runLoop = await RunLoopThread.start()
        weak var seen: SCNetworkReachability?
        let mode = CFRunLoopMode.defaultMode.rawValue
        do {
            let target = try far()
            seen = target
            log.set(on: target)
            try #require(SCNetworkReachabilityScheduleWithRunLoop(target, runLoop.loop, mode))
            network.setDefault(true)
            try await log.waitForCalls(1)
            try #require(SCNetworkReachabilityUnscheduleFromRunLoop(target, runLoop.loop, mode))
        }
        runLoop.stop()
        try await eventually("the target is gone") { seen == nil }
        #expect(log.retains == log.releases)
    }

    @Test func `a mode that is not a string is an invalid argument`() async throws {
        let runLoop = await RunLoopThread.start()
        let target = try far()
        #expect(!SCNetworkReachabilityScheduleWithRunLoop(target, runLoop.loop, log))
        #expect(SCError() == kSCStatusInvalidArgument)
        runLoop.stop()
    }
}

/// A thread with a run loop that runs until it is stopped.
private struct RunLoopThread: Sendable {
    /// Used by Core Foundation's functions alone, which take the loop's lock.
    nonisolated(unsafe) let loop: CFRunLoop
    let thread: UInt
    private let mode: Locked<String?>

    /// Starts one.
    ///
    /// - Parameters:
    ///   - mode: The mode that it runs in.
    ///   - turn: The longest sleep without a wake-up, in seconds.
    /// - Returns: The thread, which runs.
    static func start(
        in mode: String = "kCFRunLoopDefaultMode",
        turn: Double = 0.1
    ) async -> RunLoopThread {
        await withCheckedContinuation { continuation in
            let current = Locked<String?>(mode)
            let thread = Thread {
                continuation.resume(
                    returning: RunLoopThread(
                        loop: CFRunLoopGetCurrent(),
                        thread: UInt(bitPattern: CallLog.currentThread),
                        mode: current
                    )
                )
                // Without anything on it in a mode, a run loop returns at once.
                // Foundation's timers are never freed on Linux; Core Foundation's are.
                let timer = CFRunLoopTimerCreate(
                    kCFAllocatorDefault, CFAbsoluteTimeGetCurrent() + 1_000, 1_000, 0, 0, { _, _ in }, nil)
                defer { CFRunLoopTimerInvalidate(timer) }
                while let mode = current.withLock({ $0 }) {
                    let name = RunLoopThread.name(mode)
                    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, name)
                    // Short, because a mode changes in between.
                    CFRunLoopRunInMode(name, turn, false)
                }
            }
            thread.start()
        }
    }

    func run(in mode: String) {
        self.mode.withLock { $0 = mode }
    }

    func stop() {
        mode.withLock { $0 = nil }
        CFRunLoopStop(loop)
    }

    private static func name(_ mode: String) -> CoreFoundation.CFRunLoopMode? {
        CFStringCreateWithCString(kCFAllocatorDefault, mode, CFStringBuiltInEncodings.UTF8.rawValue)
    }
}
