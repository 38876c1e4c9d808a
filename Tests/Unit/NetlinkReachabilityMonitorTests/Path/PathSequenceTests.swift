// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import NetlinkReachabilityTestKit
import RoutingModel
import Testing

@testable import NetlinkReachability

struct PathSequenceTests {
    private static let way = Route.defaultRoute(2, via: "192.0.2.254")

    let network = ScriptedNetwork()

    init() {
        network.wire(2, "eth0")
    }

    @Test func `a loop gets the current path, then changes, without a start`() async throws {
        var iterator = NetworkPathMonitor(source: network.source).makeAsyncIterator()
        #expect(try await iterator.next()?.status == .unsatisfied)
        // The monitor's thread looks once more. A path that is found during a change can have a part of it.
        await network.settle()
        network.setDefault(Self.way)
        #expect(try await iterator.next()?.status == .satisfied)
        await network.settle()
        network.clock.advance(by: .seconds(1))
        network.removeDefault(Self.way)
        #expect(try await iterator.next()?.status == .unsatisfied)
    }

    @Test func `cancelling the monitor ends its loops`() async throws {
        let monitor = NetworkPathMonitor(source: network.source)
        var first = monitor.makeAsyncIterator()
        var second = monitor.makeAsyncIterator()
        #expect(try await first.next() != nil)
        #expect(try await second.next() != nil)
        monitor.cancel()
        #expect(try await first.next() == nil)
        #expect(try await second.next() == nil)
        var late = monitor.makeAsyncIterator()
        #expect(try await late.next() == nil)
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `cancelling the task ends the loop`() async throws {
        let monitor = NetworkPathMonitor(source: network.source)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            var count = 0
            for try await _ in monitor {
                count += 1
                begin.yield()
            }
            return count
        }
        for await _ in begun { break }
        task.cancel()
        #expect(try await task.value == 1)
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `a slow loop gets the newest path`() async throws {
        var iterator = NetworkPathMonitor(source: network.source).makeAsyncIterator()
        #expect(try await iterator.next()?.names == [])
        for gateway in ["192.0.2.1", "192.0.2.2", "192.0.2.3"] {
            network.clock.advance(by: .seconds(1))
            await network.settle()
            network.apply(.route(.defaultRoute(2, via: gateway), .replacing))
            await network.settle()
        }
        #expect(try await iterator.next()?.gatewayTexts == ["192.0.2.3"])
    }

    @Test func `a loop keeps its monitor, and leaving it ends the observation`() async throws {
        for try await path in NetworkPathMonitor(source: network.source) {
            #expect(network.source.monitor.userCount == 1)
            if path.status == .satisfied { break }
            network.setDefault(Self.way)
        }
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `a second loop gets the current path`() async throws {
        let monitor = NetworkPathMonitor(source: network.source)
        for try await path in monitor {
            #expect(path.names == [])
            break
        }
        network.setDefault(Self.way)
        for try await path in monitor {
            #expect(path.names == ["eth0"])
            break
        }
    }

    @Test func `a loop ends without affecting the handler`() async throws {
        let monitor = NetworkPathMonitor(source: network.source)
        monitor.start(queue: .global())
        for try await _ in monitor { break }
        #expect(network.source.monitor.userCount == 1)
        monitor.cancel()
        #expect(network.source.monitor.userCount == 0)
    }
}
