// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Dispatch
import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing

/// What a debugger and `String(reflecting:)` show of objects whose state is private.
struct DebugDescriptionTests {
    private let network = SimulatedNetwork(.wifi)

    @Test func `a handle shows its target, and its flags once it is started`() async throws {
        let handle = try NetworkReachability(address: "203.0.113.7", source: network.source)
        #expect(String(reflecting: handle) == "NetworkReachability(203.0.113.7)")
        try handle.start(.flags) { _ in }
        try await network.settle()
        #expect(String(reflecting: handle) == "NetworkReachability(203.0.113.7, -R -------)")
    }

    @Test func `a path monitor shows its path once it is started`() async throws {
        let monitor = NetworkPathMonitor(source: network.source)
        #expect(String(reflecting: monitor) == "NetworkPathMonitor(not started)")
        monitor.start(queue: .global())
        try await network.settle()
        #expect(String(reflecting: monitor) == "NetworkPathMonitor(\(try monitor.path()))")
    }

    @Test func `a connection's monitor shows the connection and its status`() async throws {
        let connection = try NetworkConnection(
            transport: .tcp, local: "192.0.2.3", localPort: 40_000, remote: "203.0.113.7", remotePort: 443)
        let monitor = try ConnectionMonitor(connection, source: network.source) { _ in }
        try await network.settle()
        let status = try #require(monitor.currentStatus)
        #expect(String(reflecting: monitor) == "ConnectionMonitor(\(connection), \(status))")
    }

    @Test func `a source shows how many receive its changes`() throws {
        let handle = try NetworkReachability(address: "203.0.113.7", source: network.source)
        #expect(String(reflecting: network.source) == "NetworkSource(0 started)")
        try handle.start(.flags) { _ in }
        #expect(String(reflecting: network.source) == "NetworkSource(1 started)")
    }
}
