// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Fakes
import NetlinkReachabilityTestKit
import RoutingModel
import SystemSupport
import Testing

@testable import NetlinkReachability

struct NetworkIdentityTests {
    private let one: [UInt8] = [2, 0, 0, 0, 0, 0x0A]
    private let other: [UInt8] = [2, 0, 0, 0, 0, 9]

    @Test func `the text is the same for every order of the gateways`() throws {
        let first = try #require(NetworkIdentity(ssid: Array("home".utf8), gateways: [one, other, one]))
        #expect(first == NetworkIdentity(ssid: Array("home".utf8), gateways: [other, one]))
        #expect(first.description == "ssid=686f6d65 gateways=02:00:00:00:00:09,02:00:00:00:00:0a")
    }

    @Test func `what is not known is left out`() {
        #expect(NetworkIdentity(ssid: [0xFF, 0], gateways: [])?.description == "ssid=ff00")
        #expect(NetworkIdentity(ssid: nil, gateways: [one])?.description == "gateways=02:00:00:00:00:0a")
        #expect(NetworkIdentity(ssid: nil, gateways: []) == nil)
    }

    @Test func `a source without neighbours knows no identity`() throws {
        let network = ScriptedNetwork()
        network.wire(2, "eth0")
        network.setDefault(.defaultRoute(2, via: "192.0.2.254"))
        #expect(try network.source.blockingValue(of: .identity()) == nil)
    }

    /// It had the gateways of interfaces that packets do not take, too.
    @Test func `a gateway counts where packets take it`() throws {
        let network = ScriptedNetwork()
        for (index, metric) in [(2, 100), (3, 200)] as [(UInt32, UInt32)] {
            network.wire(index, "eth\(index)")
            network.setDefault(.defaultRoute(index, via: "192.0.2.25\(index)", metric: metric))
        }
        network.routing.script { script in
            script.hardwareAddresses = [:]
            for interface in [2, 3] as [UInt32] {
                for (gateway, bytes) in [
                    (IPAddress(192, 0, 2, 252), one), (IPAddress(192, 0, 2, 253), other),
                ] {
                    let key = Neighbour.Key(interfaceIndex: interface, address: gateway)
                    script.hardwareAddresses?[key] = bytes
                }
            }
        }
        let path = try network.source.blockingValue(of: .path())
        #expect(path.gateways.count == 2)
        #expect(try network.source.blockingValue(of: .identity())?.gateways == [one])
    }

    // MARK: Changes

    private static let gateway = IPAddress(192, 0, 2, 254)

    /// A network whose gateway has no hardware address yet, and what an observation of its identity has delivered.
    private func observed() async throws -> (ScriptedNetwork, NetworkObservation<NetworkIdentity?>, Delivered)
    {
        let (network, delivered) = (ScriptedNetwork(), Delivered())
        network.wire(2, "eth0")
        network.setDefault(.defaultRoute(2, via: "192.0.2.254"))
        setAddress(nil, in: network)
        let observation = try network.source.observe(.identity(), on: .onMonitorThread) { result in
            delivered.values.withLock { $0.append((try? result.get())?.map(\.description) ?? "unknown") }
        }
        await network.settle()
        return (network, observation, delivered)
    }

    private final class Delivered: Sendable {
        let values = Locked<[String]>([])
        var all: [String] { values.withLock(\.self) }
    }

    private func setAddress(_ bytes: [UInt8]?, in network: ScriptedNetwork) {
        let key = Neighbour.Key(interfaceIndex: 2, address: Self.gateway)
        network.routing.script { $0.hardwareAddresses = bytes.map { [key: $0] } ?? [:] }
    }

    @Test func `a hardware address that becomes known or changes is delivered when the kernel notifies`()
        async throws
    {
        let (network, observation, delivered) = try await observed()
        for bytes in [one, one, other, nil] {
            network.clock.advance(by: .seconds(1))
            setAddress(bytes, in: network)
            network.notify(.neighbour(Self.gateway))
            await network.settle()
        }
        #expect(
            delivered.all == [
                "unknown", "gateways=02:00:00:00:00:0a", "gateways=02:00:00:00:00:09", "unknown",
            ])
        observation.cancel()
    }

    @Test func `other neighbours, and those of a path without an identity, evaluate nothing`() async throws {
        let (network, observation, _) = try await observed()
        let path = try network.source.observe(.path(), on: .onMonitorThread) { _ in }
        await network.settle()
        network.clock.advance(by: .seconds(1))
        await network.settle()
        let before = network.source.monitorCounters.evaluations
        network.notify(.neighbour(IPAddress(192, 0, 2, 9)), .neighbour("fe80::1"))
        await network.settle()
        network.clock.advance(by: .seconds(1))
        await network.settle()
        #expect(network.source.monitorCounters.evaluations == before)
        network.notify(.neighbour(Self.gateway))
        await network.settle()
        #expect(network.source.monitorCounters.evaluations == before + 1)
        observation.cancel()
        path.cancel()
    }

    @Test func `traces and debug descriptions do not contain an identity`() async throws {
        let (network, observation, delivered) = try await observed()
        setAddress(one, in: network)
        network.notify(.neighbour(Self.gateway))
        network.clock.advance(by: .seconds(1))
        await network.settle()
        #expect(delivered.all.last == "gateways=02:00:00:00:00:0a")
        #expect(String(reflecting: observation) == "NetworkObservation(known)")
        let traces = Delivered()
        let traced = network.source.tracing { trace in traces.values.withLock { $0.append("\(trace)") } }
        let other = try traced.observe(.identity(), on: .onMonitorThread) { _ in }
        traced.evaluateAgain()
        await traced.monitor.settle()
        #expect(traces.all.contains { $0.contains("identity of the network: known") }, "\(traces.all)")
        #expect(!traces.all.contains { $0.contains("gateways") })
        other.cancel()
        observation.cancel()
    }
}
