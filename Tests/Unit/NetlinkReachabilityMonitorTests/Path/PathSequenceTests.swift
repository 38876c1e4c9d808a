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

    @Test func `a loop gets the current path, then changes`() async throws {
        var iterator = network.source.updates(of: .path()).makeAsyncIterator()
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

    @Test func `cancelling the task ends the loop`() async throws {
        let paths = network.source.updates(of: .path())
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            var count = 0
            for try await _ in paths {
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
        var iterator = network.source.updates(of: .path()).makeAsyncIterator()
        #expect(try await iterator.next()?.names == [])
        for gateway in ["192.0.2.1", "192.0.2.2", "192.0.2.3"] {
            network.clock.advance(by: .seconds(1))
            await network.settle()
            network.apply(.route(.defaultRoute(2, via: gateway), .replacing))
            await network.settle()
        }
        #expect(try await iterator.next()?.gatewayTexts == ["192.0.2.3"])
    }

    @Test func `leaving a loop ends the observation`() async throws {
        for try await path in network.source.updates(of: .path()) {
            #expect(network.source.monitor.userCount == 1)
            if path.status == .satisfied { break }
            network.setDefault(Self.way)
        }
        #expect(network.source.monitor.userCount == 0)
    }

    @Test func `a second loop gets the current path`() async throws {
        let paths = network.source.updates(of: .path())
        for try await path in paths {
            #expect(path.names == [])
            break
        }
        network.setDefault(Self.way)
        for try await path in paths {
            #expect(path.names == ["eth0"])
            break
        }
    }

}
