// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import Glibc
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkReachability

// Each in a process of its own: what others hold at the same time would be counted too.
@Suite struct ResourceTests {
    @Test func `with the last handle the thread and its descriptors go`() async {
        await #expect(processExitsWith: .success) {
            try await Self.startAndStop(ScriptedNetwork(resolverFiles: ResolverFiles.standard).source)
        }
    }

    @Test func `the same holds for the live kernel`() async {
        await #expect(processExitsWith: .success) {
            let source = try NetworkSource.kernel()
            _ = try NetworkReachability(target: .defaultPath, source: source).flags()
            let sockets = ProcessResources.descriptors(beginning: "socket:")
            let events = ProcessResources.descriptors(beginning: "anon_inode:[eventfd]")
            try await Self.startAndStop(source)
            #expect(ProcessResources.descriptors(beginning: "socket:") <= sockets + 1)
            #expect(ProcessResources.descriptors(beginning: "anon_inode:[eventfd]") <= events + 2)
        }
    }

    @Test(.enabled(if: !ProcessResources.isSanitized, "a sanitizer multiplies every allocation"))
    func `a hundred thousand idle handles cost about a kibibyte each`() async {
        await #expect(processExitsWith: .success) {
            let network = ScriptedNetwork()
            var handles: [NetworkReachability] = []
            handles.reserveCapacity(100_000)
            let before = ProcessResources.residentBytes
            for number in 0..<100_000 as Range<UInt32> {
                let handle = try network.handle(.address(IPAddress(v4: 0x0A00_0000 + number)))
                try handle.start { _ in }
                handles.append(handle)
            }
            await network.source.monitor.settle()
            let each = (ProcessResources.residentBytes - before) / handles.count
            #expect(each < 1_500)
            #expect(network.starts == 1)
            for handle in handles { handle.stop() }
            #expect(network.source.monitor.userCount == 0)
        }
    }

    @Test func `a path monitor that was made without descriptors to be had can run later`() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit()
            try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            var none = limit
            none.rlim_cur = 0
            try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none) == 0)
            let monitor = NetworkPathMonitor()
            #expect(throws: ReachabilityError.self) { try monitor.path() }
            try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            _ = try monitor.path()
            monitor.start(queue: DispatchQueue(label: "paths"))
            #expect(monitor.queue != nil)
            monitor.cancel()
        }
    }

    private static func startAndStop(_ source: NetworkSource) async throws {
        #expect(ProcessResources.threads(named: "netlink-monitor") == 0)
        for _ in 0..<10 {
            let first = try NetworkReachability(target: .host("localhost"), source: source)
            let second = try NetworkReachability(target: .address(.loopbackV4), source: source)
            try first.start { _ in }
            try second.start { _ in }
            await source.monitor.settle()
            // One for both; those of earlier rounds may still be ending.
            #expect(await eventually { ProcessResources.threads(named: "netlink-monitor") == 1 })
            #expect(ProcessResources.descriptors(beginning: "anon_inode:inotify") > 0)
            first.stop()
            second.stop()
        }
        #expect(await eventually { ProcessResources.threads(named: "netlink-monitor") == 0 })
        #expect(ProcessResources.descriptors(beginning: "anon_inode:inotify") == 0)
        // Dispatch has some of its own, one for each clock.
        #expect(ProcessResources.descriptors(beginning: "anon_inode:[timerfd]") < 5)
    }

    /// Gives threads the time to end, at the most a minute or two.
    private static func eventually(_ condition: () -> Bool) async -> Bool {
        let limit = ContinuousClock.now + .seconds(120)
        while !condition() {
            guard ContinuousClock.now < limit else { return false }
            usleep(1_000)
        }
        return true
    }
}
