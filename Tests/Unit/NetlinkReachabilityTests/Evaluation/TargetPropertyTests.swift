// SPDX-License-Identifier: Apache-2.0

import Fakes
import NetlinkReachability
import RoutingModel
import TestSupport
import Testing

/// Random networks: what has to hold in all of them.
struct TargetPropertyTests {
    /// A network and a target in it, the same for the same seed.
    private struct World {
        private var generator: SeededGenerator
        var script = ScriptedRouting.Script()
        var addresses: [IPAddress] = []
        var options = ReachabilityOptions()

        init(seed: UInt64) {
            generator = SeededGenerator(seed: seed)
            for index in UInt32(1)...6 { script.interfaces.append(interface(index)) }
            addresses = (0..<Int.random(in: 0...5, using: &generator)).map { _ in address() }
            for address in addresses + [lowerProbe, upperProbe, probeV6] {
                script.answers[address] = [answer()]
            }
            options.families = [.v4, .v6, .all, .all, .all].randomElement(using: &generator) ?? .all
        }

        private mutating func chance(_ percent: Int) -> Bool {
            Int.random(in: 0..<100, using: &generator) < percent
        }

        private mutating func address() -> IPAddress {
            if chance(10) { return IPAddress(169, 254, 0, 0) }
            let low = UInt64.random(in: 2...9, using: &generator)
            return chance(50)
                ? IPAddress(198, 51, 100, UInt8(low)) : IPAddress(v6High: 0x2001_0db8 << 32, low: low)
        }

        private mutating func link(_ index: UInt32) -> Link {
            let kinds = ["", "", "bond", "bridge", "vlan", "wireguard", "wwan", "l2tp", "team"]
            let hardware: [HardwareType] = [.ethernet, .ethernet, .ethernet, .none, .ppp, .loopback]
            return Link(
                index: index,
                name: "if\(index)",
                hardwareType: hardware.randomElement(using: &generator) ?? .ethernet,
                flags: LinkFlags(
                    rawValue: chance(80) ? 0x1_0041 : UInt32.random(in: 0...0x3_ffff, using: &generator)),
                operationalState: chance(70)
                    ? .up : OperationalState(rawValue: UInt8.random(in: 0...7, using: &generator)),
                carrier: chance(80) ? true : chance(50) ? nil : false,
                kind: kinds.randomElement(using: &generator) ?? ""
            )
        }

        private mutating func interface(_ index: UInt32) -> InterfaceFacts {
            var facts = InterfaceFacts(link: link(index), isCellularDevice: chance(10))
            if chance(30) { facts = facts.with(lowers: [link(20), link(21)]) }
            if chance(40) { facts = facts.with(ports: [link(30), link(31)]) }
            facts = facts.with(wirelessIndexes: Set([index, 20, 30, 31].filter { _ in chance(25) }))
            facts = facts.with(hasPlaceholderAddresses: chance(5))
            return facts
        }

        private mutating func answer() -> ScriptedRouting.Answer {
            if chance(25) {
                let all: [RouteRejection] = [.noRoute, .unreachable, .prohibited, .blackhole, .noFamily]
                return .rejected(all.randomElement(using: &generator) ?? .noRoute)
            }
            let type =
                chance(70)
                ? RouteType.unicast : RouteType(rawValue: UInt8.random(in: 0...11, using: &generator))
            let nexthops = (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                Nexthop(
                    interfaceIndex: UInt32.random(in: 1...7, using: &generator),
                    gateway: chance(50) ? gateway : nil,
                    flags: chance(80)
                        ? [] : NexthopFlags(rawValue: UInt8.random(in: 0...255, using: &generator))
                )
            }
            return .route(
                Route(destination: .allV4, type: type, nexthops: nexthops, preferredSource: gateway))
        }

        func handle(_ addresses: [IPAddress]) throws -> NetworkReachability {
            let resolver = ScriptedResolver([
                "host.example": addresses.isEmpty ? .notFound : .addresses(addresses)
            ])
            return try reachability(
                .host("host.example"),
                ScriptedRouting(script),
                resolver: resolver,
                options: options
            )
        }
    }

    private static let seeds = 1...UInt64(Rounds.of(10_000))

    @Test func `flags and report always agree`() throws {
        for seed in Self.seeds {
            let world = World(seed: seed)
            let handle = try world.handle(world.addresses)
            let report = try handle.blockingReport()
            #expect(try handle.blockingFlags() == report.flags, "seed \(seed)")
            #expect(report.isReachable == isNetworkReachable(flags: report.flags))
        }
    }

    @Test func `a target has the flags of its best address`() throws {
        for seed in Self.seeds {
            let world = World(seed: seed)
            let report = try world.handle(world.addresses).blockingReport()
            guard let best = report.findings.map(\.flags.rank).max() else { continue }
            let first = report.findings.first { $0.flags.rank == best }
            #expect(report.flags == first?.flags, "seed \(seed)")
            #expect(report.reason == first?.reason, "seed \(seed)")
        }
    }

    @Test func `an unreachable target has no flags`() throws {
        for seed in Self.seeds {
            let world = World(seed: seed)
            let flags = try world.handle(world.addresses).blockingFlags()
            guard !flags.isEmpty else { continue }
            #expect(flags.contains(.reachable), "seed \(seed)")
            #expect(flags.isDisjoint(with: [.interventionRequired, .connectionOnDemand]), "seed \(seed)")
            #expect(!flags.contains(.isLocalAddress) || flags == own, "seed \(seed)")
            #expect(
                !flags.contains(.connectionOnTraffic) || flags.contains(.connectionRequired), "seed \(seed)")
            #expect(!flags.contains(.isWWAN) || flags.contains(.transientConnection), "seed \(seed)")
        }
    }

    @Test func `the order of the addresses never changes the rank`() throws {
        for seed in Self.seeds where seed % 3 == 0 {
            let world = World(seed: seed)
            let forwards = try world.handle(world.addresses).blockingFlags()
            let backwards = try world.handle(world.addresses.reversed()).blockingFlags()
            #expect(forwards.rank == backwards.rank, "seed \(seed)")
        }
    }

    @Test func `a brief report agrees with the full one`() throws {
        for seed in Self.seeds {
            let world = World(seed: seed)
            for address in world.addresses {
                var options = world.options
                // Bound queries too: of a multipath route only the nexthops through that interface count.
                if seed % 3 == 0 { options.interface = InterfaceReference(name: "if\(seed % 6 + 1)") }
                let handle = try reachability(
                    .address(address),
                    ScriptedRouting(world.script),
                    resolver: ScriptedResolver([:]),
                    options: options
                )
                let (brief, full) = (try handle.blockingReport(.brief), try handle.blockingReport())
                #expect(brief.flags == full.flags, "seed \(seed) \(address)")
                #expect(try handle.blockingFlags() == full.flags, "seed \(seed) \(address)")
                #expect(brief.reason == full.reason, "seed \(seed) \(address)")
                #expect(brief.address == full.address, "seed \(seed) \(address)")
                #expect(brief.interface == full.interface, "seed \(seed) \(address)")
                #expect(brief.gateway == full.gateway, "seed \(seed) \(address)")
            }
        }
    }
}
