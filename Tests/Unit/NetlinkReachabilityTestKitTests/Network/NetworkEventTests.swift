// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing

/// The machine's events, beside changes of paths.
struct NetworkEventTests {
    private let network = SimulatedNetwork()

    @Test func `a sleep of the machine is an event with its duration`() async throws {
        var events = network.source.updates(of: .events).makeAsyncIterator()
        try await network.settle()
        network.sleepMachine(for: .seconds(3_600))
        try await network.settle()
        #expect(try await events.next() == .slept(.seconds(3_600)))
    }

    @Test func `a sleep that is shorter than a second is not an event`() async throws {
        var events = network.source.updates(of: .events).makeAsyncIterator()
        try await network.settle()
        network.sleepMachine(for: .milliseconds(900))
        try await network.settle()
        network.notifyResolverChange()
        #expect(try await events.next() == .resolverConfigurationChanged)
    }

    @Test func `lost notifications are an event`() async throws {
        var events = network.source.updates(of: .events).makeAsyncIterator()
        try await network.settle()
        network.loseNotifications()
        #expect(try await events.next() == .notificationsLost)
    }

    @Test func `each iteration gets every event, in order`() async throws {
        var iterations = [
            network.source.updates(of: .events).makeAsyncIterator(),
            network.source.updates(of: .events).makeAsyncIterator(),
        ]
        try await network.settle()
        for seconds in 1...3 {
            network.sleepMachine(for: .seconds(seconds))
            try await network.settle()
        }
        for index in iterations.indices {
            for seconds in 1...3 {
                #expect(try await iterations[index].next() == .slept(.seconds(seconds)))
            }
        }
    }

    @Test func `an iteration that is slower gets the last 256 events`() async throws {
        var events = network.source.updates(of: .events).makeAsyncIterator()
        try await network.settle()
        for seconds in 1...300 {
            network.sleepMachine(for: .seconds(seconds))
            try await network.settle()
        }
        for seconds in 45...300 {
            #expect(try await events.next() == .slept(.seconds(seconds)))
        }
        network.notifyResolverChange()
        #expect(try await events.next() == .resolverConfigurationChanged)
    }

    @Test func `an iteration ends when its task is cancelled, and the monitor's thread with the last one`()
        async throws
    {
        let events = network.source.updates(of: .events)
        let task = Task {
            var count = 0
            for try await _ in events { count += 1 }
            return count
        }
        try await network.settle()
        task.cancel()
        #expect(try await task.value == 0)
        #expect(network.source.monitor.userCount == 0)
    }
}
