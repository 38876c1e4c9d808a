// SPDX-License-Identifier: Apache-2.0

import Fakes
import TestSupport
import Testing

@testable import NetlinkReachability

struct ObservationTableTests {
    /// A number with a place that few others share.
    private static func number(_ random: inout SeededGenerator) -> UInt64 {
        UInt64.random(in: 1...4, using: &random) << 32 | UInt64.random(in: 0..<20, using: &random)
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `it holds what a dictionary holds in which a place has one number`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var table = ObservationTable<Int>()
        var slow: [UInt64: Int] = [:]
        for value in 0..<500 {
            let id = Self.number(&random)
            if Bool.random(using: &random) {
                table[id] = value
                slow = slow.filter { $0.key & 0xffff_ffff != id & 0xffff_ffff }
                slow[id] = value
            } else {
                #expect(table[id] == slow.removeValue(forKey: id))
                table[id] = nil
            }
            #expect(table.count == slow.count)
            #expect(table.isEmpty == slow.isEmpty)
            #expect(Set(table.ids) == Set(slow.keys))
            let other = Self.number(&random)
            #expect(table[other] == slow[other])
        }
    }

    @Test func `handles reuse the places of released handles`() throws {
        let monitor = ScriptedNetwork().source.monitor
        let kept = try monitor.join()
        var places: Set<UInt64> = []
        var numbers: Set<UInt64> = [kept.id]
        for _ in 0..<1_000 {
            let registration = try monitor.join()
            places.insert(registration.id & 0xffff_ffff)
            #expect(numbers.insert(registration.id).inserted)
            monitor.leave(registration.id)
        }
        #expect(places.count == 1)
        #expect(!places.contains(kept.id & 0xffff_ffff))
        monitor.leave(kept.id)
    }
}
