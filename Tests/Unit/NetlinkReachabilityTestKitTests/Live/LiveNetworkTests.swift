// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import NamespaceTraits
import NetlinkReachability
import NetlinkReachabilityTestKit
import Testing

/// A namespace of the running kernel, as a user's test has it.
@Suite(.needsNetwork)
struct LiveNetworkTests {
    private let network: LiveNetwork

    init() throws {
        network = try LiveNetwork()
    }

    private func plugIn() throws {
        try network.shell(
            """
            ip link add eth0 type veth peer name far
            ip link set eth0 up; ip link set far up
            ip addr add 192.0.2.2/24 dev eth0
            """)
    }

    @Test func `a new namespace has a loopback interface alone`() throws {
        #expect(try network.shell("ip -o link | cut -d: -f2").split(separator: "\n") == [" lo"])
        let flags = network.source.blockingValues(
            of: [.flags(of: .address("127.0.0.1")), .flags(of: .address("192.0.2.7"))])
        #expect(try flags.map { try $0.get().letters } == ["-R -----ld", "-- -------"])
    }

    @Test func `handles on any thread ask the kernel of the namespace`() async throws {
        try plugIn()
        let reachability = NetworkReachability(address: "192.0.2.7", source: network.source)
        let report = try await Task.detached { try await reachability.report() }.value
        #expect(report.flags.letters == "-R ------d")
        #expect(report.interface?.name == "eth0")
        #expect(report.sourceAddress == "192.0.2.2")
    }

    @Test(.timeLimit(.minutes(10))) func `a started handle receives the namespace's changes`() async throws {
        try plugIn()
        let reachability = NetworkReachability(address: "192.0.2.7", source: network.source)
        var flags = reachability.updates.makeAsyncIterator()
        #expect(try await flags.next()?.letters == "-R ------d")
        try network.shell("ip addr del 192.0.2.2/24 dev eth0")
        #expect(try await flags.next()?.letters == "-- -------")
    }

    @Test func `two namespaces are joined by a path`() throws {
        let peer = try LiveNetwork()
        try plugIn()
        try network.shell("ip link set far netns \(peer.path)")
        try peer.shell("ip link set far up; ip addr add 192.0.2.1/24 dev far")
        #expect(try peer.source.blockingValue(of: .flags(of: .address("192.0.2.2"))).letters == "-R ------d")
    }

    @Test func `a script that fails is an error with its output`() {
        let failure = #expect(throws: LiveNetwork.Failure.self) {
            try network.shell("ip link set eth7 up; echo after")
        }
        #expect(failure?.description.contains("Cannot find device \"eth7\"") == true)
        #expect(failure?.description.contains("after\n") == false)
    }

    @Test func `a closure in the namespace belongs to the running test`() throws {
        let name = Test.current?.name
        #expect(name != nil)
        #expect(try network.run { Test.current?.name } == name)
    }

    @Test func `a name is an error that names the remedy`() async throws {
        let handle = try NetworkReachability(host: "db.example", source: network.source)
        let error = await #expect(throws: ReachabilityError.self) { try await handle.flags() }
        #expect(error?.code == .resolverFailure)
        #expect(error?.description.contains("resolving(with:)") == true)
    }
}
