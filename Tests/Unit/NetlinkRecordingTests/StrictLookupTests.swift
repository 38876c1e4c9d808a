// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import NamespaceTraits
import NetlinkReachability
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkRecording

/// A bound IPv6 socket with a source address whose destination is served by a route of another interface.
@Suite(.needsNetwork)
struct StrictLookupTests {
    private static let gateway = IPAddress("fe80::9")

    private static let setUp = """
        ip link set lo up
        ip link add v0 type veth peer name p0; ip link add v1 type veth peer name p1
        for name in v0 p0 v1 p1; do ip link set $name up; done
        ip addr add 2001:db8:1::2/64 dev v0 nodad; ip addr add 2001:db8:2::2/64 dev v1 nodad
        ip -6 route add default via fe80::9 dev v1
        """

    private func route(
        _ script: String = "",
        _ source: () throws -> any RoutingSource = { try KernelRouting() }
    ) throws -> Route? {
        try LiveNetwork().run {
            try ShellCommand.check(Self.setUp)
            if !script.isEmpty { try ShellCommand.check(script) }
            let kernel = try KernelRouting()
            var query = RouteQuery(destination: IPAddress("2001:db8:1::5"))
            query.outputInterface = try #require(try kernel.interfaceIndex(named: "v1"))
            query.source = IPAddress("2001:db8:2::2")
            let loose = try kernel.answer(to: query.forEntry)
            #expect(!loose.leaves(through: query.outputInterface))
            query.isStrict = true
            return try source().answer(to: query.forEntry).entry
        }
    }

    @Test func `the kernel answers from the bound interface's routes`() throws {
        #expect(try route()?.nexthops.map(\.gateway) == [Self.gateway])
    }

    @Test func `a socket that has no route out of its interface is rejected`() throws {
        #expect(try route("ip -6 route del default dev v1") == nil)
    }

    @Test(arguments: [
        "ip -6 rule add pref 40000 from 2001:db8:2::/64 lookup 100; ip -6 route add default via fe80::9 dev v1 table 100",
        "ip -6 route add 2001:db8:1::/60 from 2001:db8:2::/64 via fe80::9 dev v1",
    ])
    func
        `a rule or route that compares the source leaves the kernel's answer undecided, and not a recording's`(
            script: String
        ) throws
    {
        let script = "ip -6 route del default dev v1; \(script)"
        let error = #expect(throws: ReachabilityError.self) { try route(script) }
        #expect(error?.code == .undecided)
        let recorded = try route(script) { try RecordedRouting.live() }
        #expect(recorded?.nexthops.map(\.gateway) == [Self.gateway])
    }
}
