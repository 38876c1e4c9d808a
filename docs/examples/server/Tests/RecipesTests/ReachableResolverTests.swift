// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NetlinkReachability
import NetlinkReachabilityTestKit
import Recipes
import Testing

@Suite
struct ReachableResolverTests {
    private let network = SimulatedNetwork()
    private let group = MultiThreadedEventLoopGroup.singleton
    private let resolver: ReachableResolver

    /// A host with two interfaces of IPv4, and a name with addresses behind each, and of IPv6.
    init() throws {
        try network.change { host in
            try host.addInterface("eth0")
            try host.addAddress("192.0.2.2", prefixLength: 24, to: "eth0")
            try host.addInterface("eth1")
            try host.addAddress("192.0.3.2", prefixLength: 24, to: "eth1")
            try host.addRoute(SimulatedRoute(to: "198.51.100.0/24", via: "192.0.2.1"))
            try host.addRoute(SimulatedRoute(to: "203.0.113.0/24", via: "192.0.3.1"))
            host.names["db.example"] = .addresses("2001:db8::1", "198.51.100.1", "203.0.113.1", "192.0.3.9")
        }
        resolver = ReachableResolver(source: network.source, on: group.next())
    }

    private func answers() async throws -> [String] {
        try await resolver.initiateAQuery(host: "db.example", port: 5432).get().map { "\($0)" }
    }

    @Test("addresses come in the order to try them, with the port")
    func order() async throws {
        #expect(
            try await answers() == [
                "[IPv4]192.0.3.9:5432", "[IPv4]198.51.100.1:5432", "[IPv4]203.0.113.1:5432",
            ])
    }

    @Test("an address behind a dead cable is left out")
    func deadCable() async throws {
        try network.change { try $0.setCarrier("eth0", isPresent: false) }
        #expect(try await answers() == ["[IPv4]192.0.3.9:5432", "[IPv4]203.0.113.1:5432"])
        try network.change { try $0.setCarrier("eth0", isPresent: true) }
        #expect(try await answers().count == 3)
    }

    @Test("a family without a reachable address is an error that says why")
    func noRoute() async throws {
        let error = await #expect(throws: ReachableResolver.NoReachableAddress.self) {
            try await resolver.initiateAAAAQuery(host: "db.example", port: 5432).get()
        }
        #expect(error?.description.hasPrefix("db.example: 2001:db8::1: ") == true)
    }

    @Test("a bootstrap connects through the resolver, where AAAA has no route")
    func connect() async throws {
        let server = try await ServerBootstrap(group: group).bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        network.change { $0.names["local.example"] = .addresses("2001:db8::1", "127.0.0.1") }
        let channel = try await ClientBootstrap(group: group).resolver(resolver)
            .connect(host: "local.example", port: port).get()
        #expect(channel.remoteAddress?.ipAddress == "127.0.0.1")
        try await channel.close()
        try await server.close()
    }
}
