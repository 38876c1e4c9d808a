// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import Glibc
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkReachability

// Each in a process of its own: what others hold at the same time would be counted too.
struct ResourceTests {
    @Test func `the thread and its descriptors end with the last handle`() async {
        await #expect(processExitsWith: .success) {
            try await Self.startAndStop(ScriptedNetwork(resolverFiles: ResolverFiles.standard).source)
        }
    }

    @Test func `the same holds for the live kernel`() async {
        await #expect(processExitsWith: .success) {
            let source = try NetworkSource.kernel()
            _ = try await NetworkReachability(target: .defaultPath, source: source).flags()
            let sockets = ProcessResources.descriptors(beginning: "socket:")
            let events = ProcessResources.descriptors(beginning: "anon_inode:[eventfd]")
            try await Self.startAndStop(source)
            #expect(ProcessResources.descriptors(beginning: "socket:") <= sockets + 1)
            #expect(ProcessResources.descriptors(beginning: "anon_inode:[eventfd]") <= events + 2)
        }
    }

    @Test(.enabled(if: !ProcessResources.isSanitized, "a sanitizer multiplies every allocation"))
    func `idle handles cost about a kibibyte each`() async {
        await #expect(processExitsWith: .success) {
            let network = ScriptedNetwork()
            var handles: [NetworkReachability] = []
            // Fewer leave the costs of the process visible beside those of the handles.
            let count = max(Rounds.of(100_000), 40_000)
            handles.reserveCapacity(count)
            let before = ProcessResources.residentBytes
            for number in 0..<UInt32(count) {
                let handle = try network.handle(.address(IPAddress(v4: 0x0A00_0000 + number)))
                try handle.start(.flags) { _ in }
                handles.append(handle)
                // The notes of the script are no part of a handle.
                if number.isMultiple(of: 1_000) { _ = network.routing.takeAsked() }
            }
            await network.source.monitor.settle()
            _ = network.routing.takeAsked()
            let each = (ProcessResources.residentBytes - before) / handles.count
            #expect(each < 1_500, "\(each) bytes each")
            #expect(network.starts == 1)
            for handle in handles { handle.stop() }
            #expect(network.source.monitor.userCount == 0)
        }
    }

    @Test func `a monitored name takes one thread`() async {
        await #expect(processExitsWith: .success) {
            let (held, network) = (DispatchSemaphore(value: 0), ScriptedNetwork())
            let resolver = SystemResolver { _, _ in
                held.wait()
                return .notFound
            }
            let source = NetworkSource(routing: network.routing, resolver: resolver)
            let handles = try (0..<20).map { number in
                try NetworkReachability(host: "host\(number).example", source: source)
            }
            for handle in handles { try handle.start(.flags) { _ in } }
            await source.monitor.settle()
            // A thread has its name once it runs.
            try await eventually("every thread of the limit runs") {
                ProcessResources.threads(named: "netlink-resolve") == MonitorState.Names.limit
            }
            await source.monitor.settle()
            #expect(ProcessResources.threads(named: "netlink-resolve") == MonitorState.Names.limit)
            for handle in handles { handle.stop() }
        }
    }

    @Test func `a path monitor that was created while descriptors were exhausted can run later`() async {
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

    private static func startAndStop(
        _ source: NetworkSource,
        at location: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(ProcessResources.threads(named: "netlink-monitor") == 0, sourceLocation: location)
        for _ in 0..<10 {
            let first = try NetworkReachability(target: .host("localhost"), source: source)
            let second = try NetworkReachability(target: .address(.loopbackV4), source: source)
            try first.start(.flags) { _ in }
            try second.start(.flags) { _ in }
            await source.monitor.settle()
            // One for both; those of earlier rounds can still be ending.
            try await eventually("there is one thread") {
                ProcessResources.threads(named: "netlink-monitor") == 1
            }
            #expect(
                ProcessResources.descriptors(beginning: "anon_inode:inotify") > 0, sourceLocation: location)
            first.stop()
            second.stop()
        }
        try await eventually("there is no thread") {
            ProcessResources.threads(named: "netlink-monitor") == 0
        }
        #expect(ProcessResources.descriptors(beginning: "anon_inode:inotify") == 0, sourceLocation: location)
        // Dispatch has some, one for each clock.
        #expect(ProcessResources.descriptors(beginning: "anon_inode:[timerfd]") < 5, sourceLocation: location)
    }
}
