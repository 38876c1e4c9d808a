// SPDX-License-Identifier: Apache-2.0

import Foundation
import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing

/// What becomes of connections in a simulated network, for tests of a program's reconnect logic.
struct SimulatedConnectionTests {
    private let network = SimulatedNetwork()

    private func connection() throws -> NetworkConnection {
        try network.change { host in
            try host.addInterface("eth0")
            try host.addAddress("192.0.2.2", prefixLength: 24, to: "eth0")
            try host.addRoute(.default(via: "192.0.2.1"))
        }
        return try NetworkConnection(
            transport: .tcp, local: IPAddress(192, 0, 2, 2), localPort: 40_000,
            remote: IPAddress(198, 51, 100, 7),
            remotePort: 443)
    }

    @Test func `a connection waits without a carrier, and is lost without its address`() throws {
        let connection = try connection()
        #expect(try network.source.blockingValue(of: .status(of: connection)).state == .viable)
        try network.change { try $0.setCarrier("eth0", isPresent: false) }
        #expect(
            try network.source.blockingValue(of: .status(of: connection)).description
                == "waiting: eth0 has no carrier")
        try network.change { try $0.setCarrier("eth0", isPresent: true) }
        #expect(try network.source.blockingValue(of: .status(of: connection)).isViable)
        try network.change { try $0.removeAddress("192.0.2.2", from: "eth0") }
        let lost = try network.source.blockingValue(of: .status(of: connection))
        #expect(lost.state == .lost)
        #expect(lost.description == "lost: the source 192.0.2.2 is not an address of this host")
    }

    @Test func `a status is encoded with the names of its properties`() throws {
        let connection = try connection()
        try network.change { host in
            try host.addInterface("eth1")
            try host.addAddress("192.0.3.2", prefixLength: 24, to: "eth1")
            try host.addRoute(SimulatedRoute(to: "198.51.100.7/32", via: "192.0.3.1"))
        }
        let status = try network.source.blockingValue(of: .status(of: connection))
        let data = try JSONEncoder().encode(status)
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(
            Set(object.keys) == ["state", "reason", "interface", "gateway", "betterPath", "subflows"])
        #expect(try JSONDecoder().decode(ConnectionStatus.self, from: data) == status)
    }

    /// An MPTCP connection with a subflow over each of two uplinks.
    private func multipathConnection() throws -> NetworkConnection {
        var connection = try connection()
        try network.change { host in
            try host.addInterface("eth1")
            try host.addAddress("192.0.3.2", prefixLength: 24, to: "eth1")
            try host.addRoute(SimulatedRoute(to: "198.51.100.8/32", via: "192.0.3.1"))
        }
        let second = try NetworkConnection(
            transport: .tcp, local: IPAddress(192, 0, 3, 2), localPort: 40_001,
            remote: IPAddress(198, 51, 100, 8), remotePort: 443)
        connection.subflows = [connection, second]
        return connection
    }

    @Test func `an MPTCP connection is viable as long as one of its subflows is`() throws {
        let connection = try multipathConnection()
        #expect(
            try network.source.blockingValue(of: .status(of: connection)).subflows.map(\.state) == [
                .viable, .viable,
            ])
        try network.change { try $0.removeAddress("192.0.2.2", from: "eth0") }
        let status = try network.source.blockingValue(of: .status(of: connection))
        #expect(status.state == .viable)
        #expect(status.interface?.name == "eth1")
        #expect(status.subflows.map(\.state) == [.lost, .viable])
        try network.change { try $0.setCarrier("eth1", isPresent: false) }
        #expect(
            try network.source.blockingValue(of: .status(of: connection)).description
                == "waiting: eth1 has no carrier")
        try network.change { try $0.removeAddress("192.0.3.2", from: "eth1") }
        #expect(try network.source.blockingValue(of: .status(of: connection)).state == .lost)
    }

    @Test func `an observation follows the subflows of an MPTCP connection`() async throws {
        let connection = try multipathConnection()
        let log = FlagsLog()
        let observation = try network.source.observe(.status(of: connection)) { result in
            log.append((try? result.get().state.rawValue) ?? "failure")
        }
        try await network.settle()
        try network.change { try $0.removeAddress("192.0.2.2", from: "eth0") }
        try await network.advance(by: .seconds(1))
        try network.change { try $0.removeAddress("192.0.3.2", from: "eth1") }
        try await network.advance(by: .seconds(1))
        #expect(observation.current?.subflows.map(\.state) == [.lost, .lost])
        #expect(log.take() == ["viable", "viable", "lost"])
    }

    /// Packets leave through eth1, and the answers to 192.0.2.2 do not arrive.
    @Test func `a connection waits for the interface that has its address`() throws {
        let connection = try connection()
        try network.change { host in
            try host.addInterface("eth1")
            try host.addAddress("192.0.3.2", prefixLength: 24, to: "eth1")
            try host.addRoute(SimulatedRoute(to: "0.0.0.0/0", via: "192.0.3.1", metric: 100))
        }
        #expect(try network.source.blockingValue(of: .status(of: connection)).isViable)
        try network.change { try $0.setCarrier("eth0", isPresent: false) }
        #expect(
            try network.source.blockingValue(of: .status(of: connection)).description
                == "waiting: eth0 has no carrier")
    }

    @Test func `another uplink with a lower metric is a better path`() throws {
        let connection = try connection()
        try network.change { host in
            try host.addInterface("eth1")
            try host.addAddress("192.0.3.2", prefixLength: 24, to: "eth1")
            try host.addRoute(SimulatedRoute(to: "0.0.0.0/1", via: "192.0.3.1"))
            try host.addRoute(SimulatedRoute(to: "128.0.0.0/1", via: "192.0.3.1"))
        }
        let status = try network.source.blockingValue(of: .status(of: connection))
        #expect(status.isViable)
        #expect(status.betterPath?.interface?.name == "eth1")
        #expect(status.betterPath?.gateway == IPAddress(192, 0, 3, 1))
        #expect(status.betterPath?.sourceAddress == IPAddress(192, 0, 3, 2))
    }

    /// A simulated network does not contain the hash by which the kernel chooses.
    @Test func `the best of several nexthops counts`() throws {
        let connection = try connection()
        try network.change { host in
            try host.addInterface("eth1")
            try host.addAddress("192.0.3.2", prefixLength: 24, to: "eth1")
            var route = SimulatedRoute(to: "198.51.100.0/24", via: "192.0.3.1", through: "eth1")
            route.nexthops.append(SimulatedRoute.Nexthop(via: "192.0.2.1", through: "eth0"))
            try host.addRoute(route)
            try host.setDormant("eth1", isDormant: true)
        }
        let status = try network.source.blockingValue(of: .status(of: connection))
        let waits = "eth1 has a carrier but waits for an external event (dormant)"
        #expect(
            status.description
                == "viable: only some connections leave: through gateway 192.0.2.1 on eth0, but \(waits)")
    }

    @Test func `the description has the reason of the present path before the better one`() throws {
        let connection = try connection()
        try network.change { host in
            try host.setCarrier("eth0", isPresent: false)
            try host.addInterface("eth1")
            try host.addAddress("192.0.3.2", prefixLength: 24, to: "eth1")
            try host.addRoute(SimulatedRoute(to: "128.0.0.0/1", via: "192.0.3.1"))
        }
        let description = try network.source.blockingValue(of: .status(of: connection)).description
        #expect(
            description
                == "viable: leaves through eth1, but answers may not arrive: eth0 has no carrier"
                + "; better path: eth1 via 192.0.3.1 from 192.0.3.2")
    }

    @Test func `each change of a connection is an element, and other changes are none`() async throws {
        let connection = try connection()
        var updates = network.source.updates(of: .status(of: connection)).makeAsyncIterator()
        #expect(try await updates.next()?.state == .viable)
        try network.change { host in
            try host.addInterface("other")
            try host.addAddress("203.0.113.2", prefixLength: 24, to: "other")
            try host.addRoute(SimulatedRoute(to: "10.0.0.0/8", via: "203.0.113.1"))
        }
        try await network.advance(by: .seconds(1))
        try network.change { try $0.setCarrier("eth0", isPresent: false) }
        try await network.advance(by: .seconds(1))
        #expect(try await updates.next()?.state == .waiting)
        try network.change { try $0.removeAddress("192.0.2.2", from: "eth0") }
        try await network.advance(by: .seconds(1))
        #expect(try await updates.next()?.state == .lost)
    }

    @Test func `an observation calls its handler with each change until it is cancelled`() async throws {
        let connection = try connection()
        let log = FlagsLog()
        let observation = try network.source.observe(.status(of: connection)) { result in
            log.append((try? result.get().state.rawValue) ?? "failure")
        }
        try await network.settle()
        try network.change { try $0.setCarrier("eth0", isPresent: false) }
        try await network.advance(by: .seconds(1))
        #expect(observation.current?.state == .waiting)
        #expect(log.take() == ["viable", "waiting"])
        observation.cancel()
        try network.change { try $0.setCarrier("eth0", isPresent: true) }
        try await network.advance(by: .seconds(1))
        #expect(log.take() == [])
    }

    @Test func `an observation that is released calls no handler`() async throws {
        let connection = try connection()
        let log = FlagsLog()
        do {
            let observation = try network.source.observe(.status(of: connection)) { _ in log.append("call")
            }
            try await network.settle()
            withExtendedLifetime(observation) {}
        }
        #expect(log.take() == ["call"])
        try network.change { try $0.setCarrier("eth0", isPresent: false) }
        try await network.advance(by: .seconds(1))
        #expect(log.take() == [])
    }
}
