// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim
import Glibc
import RoutingModel
import Testing

@testable import NetlinkReachability

/// The live kernel, without any privilege: loopback is everywhere.
struct QuerySocketTests {
    @Test(arguments: [IPAddress.loopbackV4, IPAddress(127, 9, 9, 9)])
    func `an own address is local on the loopback interface`(address: IPAddress) throws {
        var socket = try QuerySocket()
        let query = RouteQuery(destination: address)
        var packet = query.forPacket
        packet.wantsEntry = true
        for query in [query.forEntry, packet] {
            let route = try #require(try socket.answer(to: query).entry)
            #expect(route.type == .local)
            #expect(route.nexthops.map(\.interfaceIndex) == [1])
            #expect(route.destination.contains(address))
        }
    }

    @Test func `the zero address has no entry, although a packet to it is local`() throws {
        var socket = try QuerySocket()
        let query = RouteQuery(destination: .anyV4)
        #expect(try socket.answer(to: query).isRejected)
        #expect(try socket.answer(to: query.forPacket).type == .local)
    }

    @Test func `an unknown output interface is an error or a refusal, never a route`() throws {
        var socket = try QuerySocket()
        let query = RouteQuery(destination: IPAddress(198, 51, 100, 7), outputInterface: 0x7fff_fff0)
        do throws(ReachabilityError) {
            #expect(try socket.answer(to: query).isRejected)
        } catch {
            #expect(error.number == ENODEV)
            #expect(error.operation == "ask for a route")
        }
    }

    @Test func `a foreign source is refused`() throws {
        var socket = try QuerySocket()
        let query = RouteQuery(destination: IPAddress(198, 51, 100, 7), source: IPAddress(203, 0, 113, 99))
        #expect(try socket.answer(to: query).isRejected)
    }

    /// The kernel ignores a request of NETLINK_FIB_LOOKUP that is shorter than `fib_result_nl` (`nl_fib_input`).
    @Test func `a request that the kernel does not answer ends with the timeout of the socket`() throws {
        var socket = try QuerySocket(netlinkProtocol: NETLINK_FIB_LOOKUP, timeout: .milliseconds(1))
        do throws(ReachabilityError) {
            _ = try socket.nexthops(ofObject: 1)
            Issue.record("NETLINK_FIB_LOOKUP answered")
        } catch {
            #expect(error.number == ETIMEDOUT)
        }
    }

    @Test(arguments: [(Duration.zero, 1), (.microseconds(1_001), 2), (.seconds(3), 3_000)])
    func `a timeout is at least a millisecond`(given: Duration, milliseconds: Int) throws {
        #expect(try QuerySocket(timeout: given).timeout == .milliseconds(milliseconds))
    }

    @Test func `the sockets of a source have its timeout`() throws {
        let routing = try KernelRouting(timeout: .milliseconds(20))
        #expect(try routing.withSocket { $0.timeout } == .milliseconds(20))
        #expect(try KernelRouting().withSocket { $0.timeout } == .seconds(1))
    }

    // MARK: Links

    @Test func `loopback is found by index and by name`() throws {
        var socket = try QuerySocket()
        let link = try #require(try socket.link(index: 1))
        #expect(link.name == "lo" && link.hardwareType == .loopback && link.flags.contains(.loopback))
        #expect(try socket.link(named: "lo") == link)
    }

    @Test(arguments: [UInt32(0), 0x7fff_fff0, 0x7fff_ffff, 0x8000_0000, .max])
    func `an index that nothing has is not an interface`(index: UInt32) throws {
        var socket = try QuerySocket()
        #expect(try socket.link(index: index) == nil)
        #expect(try KernelRouting().facts(aboutInterface: index, detail: .reason) == nil)
    }

    @Test(
        arguments: [
            "nosuch0", "", "fifteen_bytes_x", "sixteen_bytes_xy", "with space", "a/b", "..", "%d", "lo\u{0}",
            "\u{0}",
            "ü", String(repeating: "a", count: 127), String(repeating: "a", count: 128),
            String(repeating: "a", count: 1_048_576),
        ]
    )
    func `a name that nothing has is not an interface`(name: String) throws {
        var socket = try QuerySocket()
        #expect(try socket.link(named: name) == nil)
        // The conversation goes on undisturbed.
        #expect(try socket.link(named: "lo")?.index == 1)
    }

    @Test func `an unknown nexthop object is not found`() throws {
        var socket = try QuerySocket()
        #expect(try socket.nexthops(ofObject: 0x7fff_fff0) == nil)
    }

    @Test func `the error of a refused attribute says where it is in the request`() throws {
        var socket = try QuerySocket()
        guard socket.isStrict else { return }
        // A header of 16 bytes, a structure of 16 bytes, and an attribute that is too short.
        let request = Request(RTM_GETLINK, ifinfomsg(), [Request.Attribute(IFLA_EXT_MASK, UInt8(1))])
        let error = #expect(throws: ReachabilityError.self) {
            _ = try socket.ask(request, "ask for an interface") { _ in }
        }
        #expect(
            error?.message.hasSuffix("the attribute at byte 32 of the request") == true, "\(error as Any)")
    }

    // MARK: Dumps

    @Test(arguments: [DumpRequest.Table.links, .addresses, .routes, .neighbours, .rules, .nexthops])
    func `every table is dumped whole`(table: DumpRequest.Table) throws {
        var socket = try QuerySocket()
        for family in [nil, IPAddress.Family.v4, .v6] where family == nil || table != .links {
            var (count, malformed) = (0, 0)
            _ = try socket.dump(DumpRequest(table, family: family)) { message in
                count += 1
                if message.content == .malformed { malformed += 1 }
                #expect(message.type == table.rawValue - 2)
            }
            #expect(malformed == 0)
            #expect(count > 0 || [.neighbours, .nexthops].contains(table) || family == .v6)
        }
    }

    @Test func `dumps contain the loopback interface`() throws {
        let routing = try KernelRouting()
        #expect(try routing.links().contains { $0.index == 1 && $0.name == "lo" })
        let addresses = try routing.addresses(ofInterface: 1, family: .v4)
        #expect(addresses.contains { $0.address == .loopbackV4 && $0.prefixLength == 8 })
        #expect(addresses.allSatisfy { $0.interfaceIndex == 1 && $0.address.family == .v4 })
        #expect(try routing.addresses().count >= addresses.count)
        #expect(try routing.addresses(ofInterface: 0x7fff_fff0).isEmpty)
        let rules = try routing.withSocket { (socket) throws(ReachabilityError) in
            try socket.rules(family: .v4)
        }
        #expect(rules.contains { $0.action == .lookup(table: 254) })
        #expect(rules.map(\.priority) == rules.map(\.priority).sorted())
    }

    @Test func `many queries share one socket`() throws {
        var socket = try QuerySocket()
        for round in 0..<500 {
            #expect(
                try socket.link(index: round % 2 == 0 ? 1 : 0x7fff_fff0)?.name
                    == (round % 2 == 0 ? "lo" : nil))
        }
    }

    @Test func `facts about loopback are full`() throws {
        let facts = try #require(try KernelRouting().facts(aboutInterface: 1, detail: .reason))
        #expect(facts.link.name == "lo" && facts.lowers.isEmpty && facts.basis.isEmpty)
        #expect(!facts.isCellularDevice && !facts.hasPlaceholderAddresses)
    }

    @Test(
        arguments: [
            "127.0.0.1", "127.255.255.255", "::1", "198.51.100.7", "2001:db8::7", "224.0.0.251", "0.0.0.1",
        ]
    )
    func `an answer is that of the whole entry`(text: String) throws {
        let routing = try KernelRouting()
        let query = RouteQuery(destination: try #require(IPAddress(text)))
        let whole = try routing.answer(to: query.forEntry)
        #expect(try routing.answer(to: query).path == whole.path)
        for index in Set(whole.entry?.nexthops.map(\.interfaceIndex) ?? []) {
            let facts = try routing.facts(aboutInterface: index, detail: .flags)
            let reported = try routing.facts(aboutInterface: index, detail: .reason)
            #expect(facts?.traits == reported?.traits && facts?.link == reported?.link)
        }
    }

    /// Without policy rules the kernel names the table main.
    @Test(arguments: ["127.0.0.1", "::1"]) func `an entry for an own address is in the table local`(
        text: String
    ) throws {
        let query = RouteQuery(destination: try #require(IPAddress(text)))
        let route = try #require(try KernelRouting().answer(to: query.forEntry).entry)
        #expect(route.type == .local && route.table == Route.localTable)
    }

    @Test func `the namespace of this thread is known`() {
        #expect(NetworkNamespace.current != nil)
        #expect(NetworkNamespace.current == NetworkNamespace.current)
    }
}
