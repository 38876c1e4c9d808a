// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import TestSupport
import Testing

@testable import NetlinkReachability

struct AddressIndexTests {
    /// A few addresses close together, so that prefixes hold some of them.
    private static func address(_ random: inout SeededGenerator) -> IPAddress {
        let low = UInt32.random(in: 0..<64, using: &random)
        if Bool.random(using: &random) { return IPAddress(v4: 0x0A00_0000 | low << (low % 3 * 8)) }
        return IPAddress(v6High: 0x2001_0DB8_0000_0000 | UInt64(low % 4), low: UInt64(low) << (low % 5 * 13))
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `it finds the same observations as a linear search`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var index = AddressIndex()
        var all: [UInt64: IPAddress] = [:]
        for id in 1...400 as ClosedRange<UInt64> {
            let address = Self.address(&random)
            all[id] = address
            index.insert(address, of: id)
            if id % 3 == 0 {
                all[id - 1] = nil
                index.countRemoval(of: 1) { all[$0] == $1 }
            }
            let base = Self.address(&random)
            let length = Int.random(in: 0...base.family.bitWidth, using: &random)
            let prefix = try #require(IPPrefix(base, length: length))
            var named: Set<UInt64> = []
            index.forEach(in: prefix) { named.insert($0) }
            let inside = Set(all.filter { prefix.contains($0.value) }.keys)
            #expect(named.filter { all[$0] != nil } == inside)
            let hasAny = index.hasAny(in: prefix)
            #expect(hasAny == !named.isEmpty)
        }
    }

    @Test func `removed entries are dropped in the end`() {
        var index = AddressIndex()
        for id in 1...10_000 as ClosedRange<UInt64> {
            index.insert(IPAddress(v4: UInt32(id)), of: id)
            index.countRemoval(of: 1) { _, _ in false }
        }
        #expect(index.count < 400)
    }
}
