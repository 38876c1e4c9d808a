// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import Glibc
import NamespaceTraits
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkReachability

@Suite(.needsNetwork)
struct ProbeSocketTests {
    private static let setUp = """
        ip link set lo up
        ip link add v0 type veth peer name p0; ip link set v0 up; ip link set p0 up
        ip addr add 192.0.2.2/24 dev v0; ip addr add 2001:db8::2/64 dev v0 nodad
        ip route add prohibit 198.51.100.0/24; ip -6 route add unreachable 2001:db8:f::/48
        """

    private static func connect(_ query: RouteQuery) throws -> ConnectOutcome? {
        try KernelRouting().connect(query)
    }

    private static func connect(_ destination: String) throws -> ConnectOutcome? {
        try connect(RouteQuery(destination: try #require(IPAddress(destination))))
    }

    @Test func `a socket of either family shows its source address or the errno`() throws {
        try LiveNetwork().run {
            try ShellCommand.check(Self.setUp)
            let own = IPAddress("2001:db8::2")
            #expect(try Self.connect("192.0.2.9") == .connects(from: IPAddress(192, 0, 2, 2)))
            #expect(try Self.connect("192.0.2.255") == .connects(from: IPAddress(192, 0, 2, 2)))
            #expect(try Self.connect("127.0.0.1") == .connects(from: .loopbackV4))
            #expect(try Self.connect("2001:db8::9") == .connects(from: own))
            #expect(try Self.connect("203.0.113.1") == .refused(.noRoute))
            #expect(try Self.connect("198.51.100.1") == .refused(.prohibited))
            #expect(try Self.connect("2001:db8:f::1") == .refused(.unreachable))
        }
    }

    @Test func `a socket is bound and marked as the query says`() throws {
        try LiveNetwork().run {
            try ShellCommand.check(Self.setUp)
            try ShellCommand.check("ip addr add 192.0.2.3/24 dev v0; ip rule add fwmark 7 prohibit pref 100")
            let (near, other) = (IPAddress(192, 0, 2, 9), IPAddress(192, 0, 2, 3))
            let bound = try Self.connect(RouteQuery(destination: near, source: other))
            #expect(bound == .connects(from: other))
            let foreign = RouteQuery(destination: near, source: IPAddress(203, 0, 113, 1))
            #expect(try Self.connect(foreign) == .refused(.noSourceAddress))
            let near6 = IPAddress("2001:db8::9")
            let elsewhere = RouteQuery(destination: near6, outputInterface: if_nametoindex("p0"))
            #expect(try Self.connect(elsewhere) == .refused(.noRoute))
            let marked = try Self.connect(RouteQuery(destination: near, mark: 7))
            #expect(marked == .refused(.prohibited))
        }
    }

    @Test func `nothing of a query stays for the next one`() throws {
        try LiveNetwork().run {
            try ShellCommand.check(Self.setUp)
            try ShellCommand.check("ip addr add 192.0.2.3/24 dev v0; ip addr add 198.18.0.1/24 dev p0")
            try ShellCommand.check("ip rule add fwmark 7 prohibit pref 100")
            let kernel = try KernelRouting()
            let plain = RouteQuery(destination: IPAddress(192, 0, 2, 9))
            var others = [plain, plain, plain, plain]
            others[0].mark = 7
            others[1].source = IPAddress(192, 0, 2, 3)
            others[2].outputInterface = if_nametoindex("p0")
            others[3].destination = IPAddress(203, 0, 113, 1)
            for other in others {
                #expect(kernel.connect(other) != kernel.connect(plain), "\(other)")
                #expect(kernel.connect(plain) == .connects(from: IPAddress(192, 0, 2, 2)), "after \(other)")
            }
            try ShellCommand.check("ip addr del 192.0.2.2/24 dev v0")
            #expect(kernel.connect(plain) != .connects(from: IPAddress(192, 0, 2, 2)))
        }
    }

    @Test func `what a UDP socket cannot be given has no outcome`() throws {
        let plain = RouteQuery(destination: .loopbackV4)
        var queries = [plain, plain, plain, plain]
        queries[0].ipProtocol = UInt8(IPPROTO_TCP)
        queries[1].user = geteuid() + 1
        queries[2].sourcePort = 1_024
        queries[3].typeOfService = 0x10
        for query in queries {
            let outcome = try Self.connect(query)
            #expect(outcome == nil, "\(query)")
        }
        var own = plain
        (own.ipProtocol, own.user, own.destinationPort) = (UInt8(IPPROTO_UDP), geteuid(), 53)
        let outcome = try Self.connect(own)
        #expect(outcome == .connects(from: .loopbackV4))
    }
}
