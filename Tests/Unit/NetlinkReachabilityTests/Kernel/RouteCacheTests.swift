// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import NetlinkReachability
import RoutingModel
import TestSupport
import Testing

/// libnl's route cache against the kernel's dump.
@Suite(
    .needsNetwork
)
struct RouteCacheTests {
    private static let setUp = """
        ip link set lo up; ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up
        ip addr add 192.0.2.2/24 dev v0; ip addr add 198.51.100.2/24 dev v1
        ip addr add 2001:db8::2/64 dev v0 nodad
        for i in 1 2 3 4 5; do
          ip route add 203.0.113.$i via 192.0.2.1; ip -6 route add 2001:db8:$i::/48 via 2001:db8::1
        done
        for i in $(seq 200); do ip -6 addr show tentative | grep -q . || break; sleep 0.05; done
        """

    /// Runs a body in a network, after a script.
    private func run(_ script: String = "", _ body: @Sendable () throws -> Void) throws {
        try LiveNetwork().run {
            try ShellCommand.check("\(Self.setUp)\n\(script)")
            try body()
        }
    }

    /// The routes of a family as libnl keeps them, in a definite order.
    private static func sorted(_ routes: some Sequence<Route>, _ family: IPAddress.Family) -> [String] {
        routes.filter { $0.destination.family == family && !$0.isCloned }.map { "\($0.asInLibnl)" }.sorted()
    }

    @Test func `the dump has as many routes as ip lists`() throws {
        try run {
            let routes = try KernelDiagnosis.routes()
            let ipv4 = routes.count { $0.destination.family == .v4 }
            #expect(ipv4 == ShellCommand.lines("ip -o -4 route show table all"))
            #expect(routes.count - ipv4 == ShellCommand.lines("ip -o -6 route show table all"))
        }
    }

    @Test func `IPv4 routes of each kind are as in the kernel`() throws {
        let script = """
            ip route add default via 192.0.2.1 metric 7 src 192.0.2.2 proto static
            ip route add 10.1.0.0/16 nexthop via 192.0.2.1 weight 3 nexthop via 198.51.100.1
            ip route add 10.2.0.0/16 via inet6 2001:db8::1 dev v0
            ip route add blackhole 10.3.0.0/16; ip route add throw 10.4.0.0/16 table 7
            ip route add prohibit 10.5.0.0/16 table 70000; ip route add 10.6.0.0/16 tos 0x10 dev v0
            """
        try run(script) {
            let kernel = Self.sorted(try KernelDiagnosis.routes(), .v4)
            #expect(kernel.count > 15)
            #expect(Self.sorted(try RouteCache.routes(), .v4) == kernel)
        }
    }

    @Test func `IPv6 routes of networks with an address each are as in the kernel`() throws {
        let script = """
            ip -6 route add default via 2001:db8::1 metric 7; ip -6 route add unreachable 2001:db8:99::/48
            ip -6 route add 2001:db8:77::/48 from 2001:db8::/64 via 2001:db8::1
            """
        try run(script) {
            // All interfaces have ff00::/8 and fe80::/64, which libnl merges.
            let isLinks = { (route: Route) in
                route.destination.address.isLinkLocal || route.type == .multicast
            }
            let kernel = Self.sorted(try KernelDiagnosis.routes().filter { !isLinks($0) }, .v6)
            #expect(kernel.count > 8)
            #expect(Self.sorted(try RouteCache.routes().filter { !isLinks($0) }, .v6) == kernel)
        }
    }

    @Test(
        .enabled(if: KernelDiagnosis.libnlRelease == "3.7.0", "another libnl can have another key"),
        arguments: [
            "ip route append 203.0.113.1 via 192.0.2.3", "ip route append 203.0.113.1 dev v0 scope link",
            "ip route append blackhole 203.0.113.1",
        ])
    func `of routes that differ in nexthop, scope or type alone libnl keeps one`(script: String) throws {
        try run(script) {
            let routes = { (all: [Route]) in all.filter { $0.destination.description == "203.0.113.1/32" } }
            let (kernel, libnl) = (try KernelDiagnosis.routes(), try RouteCache.routes())
            #expect(routes(kernel).count == 2)
            #expect(routes(libnl).count == 1)
        }
    }

    @Test func `a route that libnl cannot write is an error, and not left out`() throws {
        let script = """
            for host in $(seq 100 299); do ip -6 route append 2001:db8:9::/48 via 2001:db8::$host dev v0; done
            """
        try run(script) {
            let isLarge = { (route: Route) in route.nexthops.count == 200 }
            let kernel = try KernelDiagnosis.routes()
            #expect(kernel.contains(where: isLarge))
            let libnl = Result { () throws(ReachabilityError) in try RouteCache.routes() }
            // Another libnl can write it.
            switch libnl {
            case .success(let routes): #expect(routes.contains(where: isLarge))
            case .failure(let error): #expect(error.number == EBADMSG, "\(error)")
            }
        }
    }
}
