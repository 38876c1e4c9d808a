// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import RoutingModel
import SystemSupport
import Testing

@testable import NetlinkReachability

/// The path of a socket with options, on a host with two wires; marked packets take the second.
struct PathOptionsTests {
    let network = ScriptedNetwork()
    private let queue = DispatchQueue(label: "paths")

    init() throws {
        network.wire(2, "eth0")
        network.wire(3, "eth1")
        network.setDefault(.defaultRoute(2, via: "192.0.2.254", metric: 100))
        network.setDefault(.defaultRoute(3, via: "203.0.113.254", metric: 600))
        network.setDefault(.defaultRoute(2, via: "2001:db8::254", family: .v6))
        var marked = Route.defaultRoute(3, via: "203.0.113.254")
        marked.table = 77
        network.setDefault(marked)
        var rule = Rule(family: .v4, priority: 10, action: .lookup(table: 77))
        rule.mark = Masked(7)
        network.apply(.rule(rule))
        for (address, interface) in [("192.0.2.1", 2), ("203.0.113.1", 3)] as [(String, UInt32)] {
            network.apply(.route(try .own(address, interface), .last))
        }
    }

    private func path(_ change: (inout ReachabilityOptions) -> Void) throws -> NetworkPath {
        var options = ReachabilityOptions()
        change(&options)
        return try network.path(PathQuery(options: options))
    }

    // MARK: Queries

    @Test func `a bound socket has the path of its interface, and no other interface`() throws {
        let path = try path { $0.interface = "eth1" }
        #expect(path.status == .satisfied)
        #expect(path.names == ["eth1"])
        #expect(path.gatewayTexts == ["203.0.113.254"])
        #expect(path.supportsIPv4 && !path.supportsIPv6)
    }

    @Test func `a socket of one family has the interfaces and gateways of that family`() throws {
        let path = try path { $0.families = .v6 }
        #expect(path.names == ["eth0"])
        #expect(path.gatewayTexts == ["2001:db8::254"])
        #expect(!path.supportsIPv4 && path.supportsIPv6)
    }

    @Test func `the mark counts for the kernel's choice and for each interface`() throws {
        let path = try path { $0.mark = 7 }
        #expect(path.usedInterfaces.map(\.name) == ["eth1", "eth0"])
        #expect(path.gatewayTexts.first == "203.0.113.254")
        var rule = Rule(family: .v4, priority: 11, action: .prohibit)
        rule.mark = Masked(8)
        network.apply(.rule(rule))
        let prohibited = try self.path { $0.mark = 8 }
        #expect(prohibited.names == ["eth0"])
        #expect(prohibited.gatewayTexts == ["2001:db8::254"])
    }

    @Test func `a source address counts in its family`() throws {
        let path = try path { $0.sourceAddress = IPAddress(203, 0, 113, 1) }
        #expect(path.names == ["eth0", "eth1"])
        #expect(path.supportsIPv4 && !path.supportsIPv6)
    }

    @Test func `the path through certain types is that of a socket with options`() throws {
        var marked = ReachabilityOptions()
        marked.mark = 7
        let wired = try network.source.blockingValue(of: .path(requiring: .wiredEthernet, options: marked))
        #expect(wired.usedInterfaces.map(\.name) == ["eth1", "eth0"])
        let notWiFi = try network.source.blockingValue(of: .path(prohibiting: [.wifi], options: marked))
        #expect(notWiFi.usedInterfaces.map(\.name) == ["eth1", "eth0"])
    }

    @Test func `a source address of another host has no path and no interface`() throws {
        let options = ReachabilityOptions(sourceAddress: IPAddress(198, 51, 100, 1))
        let path = try network.source.blockingValue(of: .path(options: options))
        #expect(path.status == .unsatisfied)
        #expect(path.names == [])
        #expect(path.reason.code == .notOwnAddress)
    }

    @Test func `the name servers are asked through an unbound and unmarked socket of the same user`() throws {
        var rule = Rule(family: .v4, priority: 5, action: .prohibit)
        rule.users = 4_242...4_242
        network.apply(.rule(rule))
        #expect(try path { ($0.user, $0.interface) = (1, "eth1") }.supportsDNS)
        #expect(try path { ($0.user, $0.mark) = (1, 7) }.supportsDNS)
        let prohibited = try path { $0.user = 4_242 }
        #expect(prohibited.status == .satisfied)
        #expect(!prohibited.supportsDNS)
    }

    @Test(arguments: [false, true])
    func `flags and reason are those of the default path as a target`(hasDefaultRoute: Bool) throws {
        if !hasDefaultRoute { network.removeDefault(.defaultRoute(2, via: "192.0.2.254", metric: 100)) }
        for families in [.all, .v4, .v6, []] as [ReachabilityOptions.Families] {
            for interface in [nil, "eth0", "eth1", "lo"] as [InterfaceReference?] {
                for mark in [0, 7] as [UInt32] {
                    for source in [nil, "192.0.2.1", "203.0.113.1", "2001:db8::1", "127.0.0.1", "0.0.0.0"] {
                        var options = ReachabilityOptions()
                        (options.families, options.interface, options.mark) = (families, interface, mark)
                        options.sourceAddress = source.flatMap { IPAddress($0) }
                        let target = try NetworkReachability(options: options, source: network.source)
                            .blockingReport()
                        let found = try network.source.blockingValue(of: .path(options: options))
                        #expect(found.flags == target.flags, "\(options)")
                        #expect(found.reason == target.reason, "\(options)")
                    }
                }
            }
        }
    }

    // MARK: A missing interface

    @Test func `without its interface a path is unsatisfied, and says so`() throws {
        let options = ReachabilityOptions(interface: "eth9")
        let found = try network.source.blockingValue(of: .path(options: options))
        #expect(found.status == .unsatisfied)
        #expect(found.reason.description == "there is no interface \"eth9\"")
    }

    @Test func `a loop has an unsatisfied path until the interface appears`() async throws {
        let options = ReachabilityOptions(interface: "eth9")
        var iterator = network.source.updates(of: .path(options: options)).makeAsyncIterator()
        #expect(try await iterator.next()?.status == .unsatisfied)
        // The monitor's thread looks once more. A path that is found during a change can have a part of it.
        await network.settle()
        network.setDefault(.defaultRoute(9, via: "198.51.100.254", metric: 900))
        network.wire(9, "eth9")
        #expect(try await iterator.next()?.names == ["eth9"])
    }

    @Test func `an observer gets the unsatisfied path, then the satisfied one, each with its reason`()
        async throws
    {
        let options = ReachabilityOptions(interface: "eth9")
        let found = Locked<[Result<NetworkPath, ReachabilityError>]>([])
        let observation = try network.source.observe(.path(options: options), on: .queue(queue)) {
            result in
            found.withLock { $0.append(result) }
        }
        await network.settle()
        queue.sync {}
        network.setDefault(.defaultRoute(9, via: "198.51.100.254", metric: 900))
        network.wire(9, "eth9")
        await network.settle()
        for _ in 0..<4 { queue.sync {} }
        let all = found.withLock { $0 }
        #expect(all.count == 2)
        #expect(all.first?.answer?.reason.code == .noInterface)
        #expect(all.last?.answer?.names == ["eth9"])
        #expect(all.last?.answer?.reason.description == "through gateway 198.51.100.254 on eth9")
        observation.cancel()
    }
}

extension Route {
    /// The route of an address of this host.
    fileprivate static func own(_ text: String, _ interface: UInt32) throws -> Route {
        let address = try #require(IPAddress(text))
        let prefix = try #require(IPPrefix(address, length: 32))
        return Route(
            destination: prefix, type: .local, table: Route.localTable,
            nexthops: [Nexthop(interfaceIndex: interface)]
        )
    }
}

extension ReachabilityOptions {
    fileprivate init(interface: InterfaceReference? = nil, sourceAddress: IPAddress? = nil) {
        self.init()
        (self.interface, self.sourceAddress) = (interface, sourceAddress)
    }
}
