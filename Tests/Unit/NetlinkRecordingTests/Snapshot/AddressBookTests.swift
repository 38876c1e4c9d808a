// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import TestSupport
import Testing

@testable import NetlinkRecording

/// The addresses of a host, held to a plain list that looks at each of them.
struct AddressBookTests {
    private struct Twin {
        var all: [InterfaceAddress] = []

        mutating func insert(_ address: InterfaceAddress) {
            if let place = all.firstIndex(where: { Self.isSame($0, address) }) {
                all[place] = address
            } else {
                all.append(address)
            }
        }

        mutating func remove(_ address: InterfaceAddress) {
            all.removeAll { Self.isSame($0, address) }
        }

        static func isSame(_ one: InterfaceAddress, _ other: InterfaceAddress) -> Bool {
            guard one.interfaceIndex == other.interfaceIndex, one.address == other.address else {
                return false
            }
            return one.address.family == .v6
                || (one.prefixLength == other.prefixLength && one.peer == other.peer)
        }
    }

    private static func draw(_ random: inout some RandomNumberGenerator) -> InterfaceAddress {
        let low = UInt32.random(in: 1...40, using: &random)
        let isIPv4 = Bool.random(using: &random)
        return InterfaceAddress(
            interfaceIndex: .random(in: 1...4, using: &random),
            address: isIPv4 ? IPAddress(v4: low) : IPAddress(v6High: 0, low: UInt64(low)),
            peer: Int.random(in: 0..<8, using: &random) == 0 ? .loopbackV4 : nil,
            prefixLength: .random(in: 23...24, using: &random),
            flags: InterfaceAddressFlags(rawValue: .random(in: 0...3, using: &random))
        )
    }

    @Test(arguments: 1...UInt64(Rounds.of(50)))
    func `whatever comes and goes, it holds what a plain list holds`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (book, twin) = (AddressBook(), Twin())
        for step in 0..<600 {
            let address = Self.draw(&random)
            // Waves of growth and of shrinking.
            if Int.random(in: 0..<10, using: &random) < (step / 150 % 2 == 0 ? 8 : 2) {
                book.insert(address)
                twin.insert(address)
            } else if Int.random(in: 0..<40, using: &random) > 0 {
                book.remove(address)
                twin.remove(address)
            } else {
                let index = address.interfaceIndex
                for family in IPAddress.Family.allCases {
                    for lost in book.addresses(ofInterface: index, family) { book.remove(lost) }
                }
                twin.all.removeAll { $0.interfaceIndex == index }
            }
            #expect(Self.differences(book, twin, address).isEmpty, "after step \(step)")
        }
    }

    @Test func `what is removed changes nothing of what is known of the order`() {
        var book = AddressBook()
        func address(_ low: UInt32, _ interface: UInt32) -> InterfaceAddress {
            InterfaceAddress(interfaceIndex: interface, address: IPAddress(v4: low), prefixLength: 24)
        }
        for low in 1...40 as ClosedRange<UInt32> { book.insert(address(low, 1)) }
        book.insert(address(40, 2))
        book.insert(address(39, 3))
        book.dumpEnded()
        book.insert(address(39, 2))
        for low in 1...38 as ClosedRange<UInt32> { book.remove(address(low, 1)) }
        #expect(book.latestOwners(of: IPAddress(v4: 40)) == [1, 2])
        #expect(book.latestOwners(of: IPAddress(v4: 39)) == [2])
        #expect(book.latestOwners(of: IPAddress(v4: 1)) == [])
    }

    private static func differences(
        _ book: AddressBook,
        _ twin: Twin,
        _ address: InterfaceAddress
    ) -> [String] {
        var differences: [String] = []
        func compare(_ holds: Bool, _ text: String) {
            if !holds { differences.append(text) }
        }
        compare(
            twin.all.contains { $0.address == address.address } == book.contains(address.address), "holder")
        for family in IPAddress.Family.allCases {
            let all = twin.all.filter { $0.address.family == family }
            compare(all.isEmpty != book.hasAny(family), "any \(family)")
            for index in 1...4 as ClosedRange<UInt32> {
                let own = all.filter { $0.interfaceIndex == index }
                compare(own == book.addresses(ofInterface: index, family), "\(family) of \(index)")
                compare(own.isEmpty != book.hasAny(family, ofInterface: index), "any \(family) of \(index)")
            }
        }
        compare(book.all == twin.all, "all")
        return differences
    }
}
