// SPDX-License-Identifier: Apache-2.0

import Fakes
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkRecording

/// The fast path of a snapshot against the full lookup, in random networks.
struct SnapshotSummaryTests {
    private struct World {
        private var generator: SeededGenerator
        var snapshot: NetworkSnapshot

        init(seed: UInt64) {
            generator = SeededGenerator(seed: seed)
            snapshot = makeHost(knowsNeighbours: seed % 5 != 0)
            for family in IPAddress.Family.allCases {
                for _ in 0..<60 { snapshot.apply(.route(route(family), .last)) }
            }
            for address in ["10.0.0.1", "2001:db8::1"] {
                snapshot.apply(
                    .route("\(address)/\(address.contains(":") ? 128 : 32)", dev: 2) { route in
                        (route.type, route.table, route.scope) = (.local, Route.localTable, .host)
                    })
            }
            if chance(30) { snapshot.settings.ipv6Forwards = chance(50) }
            if chance(20) {
                let rule = Rule(family: chance(50) ? .v4 : .v6, priority: 500, action: .prohibit)
                snapshot.apply(.rule(rule))
            }
            if chance(50), seed % 5 != 0 {
                snapshot.apply(
                    .neighbour(Neighbour(interfaceIndex: 2, address: gateway(.v6, 1), state: .failed)))
            }
            snapshot.dumpEnded(knowsNeighbours: seed % 5 != 0)
        }

        mutating func chance(_ percent: Int) -> Bool {
            Int.random(in: 0..<100, using: &generator) < percent
        }

        private func gateway(_ family: IPAddress.Family, _ number: UInt64) -> IPAddress {
            family == .v4
                ? IPAddress(192, 0, 2, UInt8(number)) : IPAddress(v6High: 0xfe80 << 48, low: number)
        }

        /// Mostly plain; the others are what the fast path leaves to the full lookup.
        private mutating func route(_ family: IPAddress.Family) -> Route {
            let width = family.bitWidth
            let length =
                chance(10) ? 0 : chance(10) ? width : Int.random(in: 8...(width / 2), using: &generator)
            guard let destination = IPPrefix(address(family), length: length) else {
                preconditionFailure("\(length) is not a length")
            }
            let nexthops = (0..<(chance(10) ? 2 : 1)).map { _ in
                Nexthop(
                    interfaceIndex: chance(5) ? 9 : UInt32.random(in: 2...3, using: &generator),
                    gateway: chance(70) ? gateway(family, UInt64.random(in: 1...3, using: &generator)) : nil,
                    flags: chance(5) ? .linkDown : chance(5) ? .dead : [])
            }
            let types: [RouteType] = [.prohibit, .throw, .blackhole, .local, .broadcast]
            var route = Route(
                destination: destination,
                type: chance(10) ? generator.pick(types) : .unicast,
                table: chance(3) ? Route.defaultTable : Route.mainTable,
                priority: chance(10) ? 10 : 1,
                nexthops: nexthops)
            if chance(5) { route.source = IPPrefix(address(family), length: 16) }
            if chance(5) { route.tos = 8 }
            if family == .v6, chance(5) { route.expires = chance(50) ? 100 : -1 }
            return route
        }

        /// In a few networks, where routes lie in and below each other, or special.
        mutating func address(_ family: IPAddress.Family) -> IPAddress {
            let any = generator.next()
            if family == .v4 {
                if chance(5) { return generator.pick([.loopbackV4, IPAddress(224, 0, 0, 1), .anyV4]) }
                return IPAddress(v4: 0x0a00_0000 | UInt32(truncatingIfNeeded: any) & 0x0103_0303)
            }
            let special = [
                IPAddress.loopbackV6, .anyV6, gateway(.v6, 9), IPAddress(v6High: 0xff02 << 48, low: 1),
            ]
            if chance(5) { return generator.pick(special) }
            return IPAddress(v6High: 0x2001_0db8_0000_0000 | any & 0x0000_0001_0303_0000, low: any & 1)
        }

        mutating func addresses(_ count: Int) -> [IPAddress] {
            var addresses: [IPAddress] = []
            while addresses.count < count {
                let isRepeated = !addresses.isEmpty && chance(20)
                addresses.append(
                    isRepeated ? generator.pick(addresses) : address(chance(50) ? .v4 : .v6))
            }
            return addresses
        }
    }

    @Test(arguments: 0..<30 as Range<UInt64>)
    func `what one plain route decides is the full answer`(seed: UInt64) throws {
        var world = World(seed: seed)
        for address in world.addresses(100) {
            let query = RouteQuery(destination: address)
            if let plain = world.snapshot.plainAnswer(to: query) {
                #expect(try plain.path == world.snapshot.answer(to: query).path, "\(address)")
            }
        }
    }
}
