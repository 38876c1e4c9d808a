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
            let source = NetworkSource.kernel
            _ = try await NetworkReachability(target: .defaultPath, source: source).flags()
            let sockets = ProcessResources.descriptors(beginning: "socket:").count
            let events = ProcessResources.descriptors(beginning: "anon_inode:[eventfd]").count
            try await Self.startAndStop(source)
            #expect(ProcessResources.descriptors(beginning: "socket:").count <= sockets + 1)
            #expect(ProcessResources.descriptors(beginning: "anon_inode:[eventfd]").count <= events + 2)
        }
    }

    @Test(.enabled(if: !ProcessResources.isSanitized, "a sanitizer multiplies every allocation"))
    func `idle observations cost about a kibibyte each`() async {
        await #expect(processExitsWith: .success) {
            let network = ScriptedNetwork()
            var observations: [NetworkObservation<ReachabilityFlags>] = []
            // Fewer leave the costs of the process visible beside those of the handles.
            let count = max(Rounds.of(100_000), 40_000)
            observations.reserveCapacity(count)
            let before = ProcessResources.residentBytes
            for number in 0..<UInt32(count) {
                let handle = try network.handle(.address(IPAddress(v4: 0x0A00_0000 + number)))
                observations.append(try handle.observe { _ in })
                // The notes of the script are no part of a handle.
                if number.isMultiple(of: 1_000) { _ = network.routing.takeAsked() }
            }
            await network.source.monitor.settle()
            _ = network.routing.takeAsked()
            let each = (ProcessResources.residentBytes - before) / count
            #expect(each < 1_500, "\(each) bytes each")
            #expect(network.starts == 1)
            for observation in observations { observation.cancel() }
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
            let observations = try (0..<20).map { number in
                try NetworkReachability(host: "host\(number).example", source: source).observe { _ in }
            }
            await source.monitor.settle()
            // A thread has its name once it runs.
            try await eventually("every thread of the limit runs") {
                ProcessResources.threads(named: "netlink-resolve") == MonitorState.Names.limit
            }
            await source.monitor.settle()
            #expect(ProcessResources.threads(named: "netlink-resolve") == MonitorState.Names.limit)
            for observation in observations { observation.cancel() }
        }
    }

    @Test func `a path can be found after descriptors were exhausted`() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit()
            try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            var none = limit
            none.rlim_cur = 0
            try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none) == 0)
            #expect(throws: ReachabilityError.self) { try NetworkSource.kernel.blockingValue(of: .path()) }
            try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            let observation = try NetworkSource.kernel.observe(.path()) { _ in }
            #expect(observation.current != nil)
            observation.cancel()
        }
    }

    private static func startAndStop(
        _ source: NetworkSource,
        at location: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(ProcessResources.threads(named: "netlink-monitor") == 0, sourceLocation: location)
        for _ in 0..<10 {
            let first = try NetworkReachability(target: .host("localhost"), source: source)
            let second = NetworkReachability(target: .address(.loopbackV4), source: source)
            let firstObservation = try first.observe { _ in }
            let secondObservation = try second.observe { _ in }
            await source.monitor.settle()
            // One for both; those of earlier rounds can still be ending.
            try await eventually("there is one thread") {
                ProcessResources.threads(named: "netlink-monitor") == 1
            }
            #expect(
                !ProcessResources.descriptors(beginning: "anon_inode:inotify").isEmpty,
                sourceLocation: location)
            firstObservation.cancel()
            secondObservation.cancel()
        }
        try await eventually("there is no thread") {
            ProcessResources.threads(named: "netlink-monitor") == 0
        }
        #expect(
            ProcessResources.descriptors(beginning: "anon_inode:inotify").isEmpty, sourceLocation: location)
        // Dispatch has some, one for each clock.
        #expect(
            ProcessResources.descriptors(beginning: "anon_inode:[timerfd]").count < 5,
            sourceLocation: location)
    }
}
