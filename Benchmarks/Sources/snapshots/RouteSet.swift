// SPDX-License-Identifier: Apache-2.0

import Duel

/// Routes as a border router has them: mostly /24, some shorter, hardly any longer, through 64 gateways.
///
/// The same for the same number of routes, on every machine.
struct RouteSet {
    /// A route of the set.
    struct Item {
        let address: UInt32
        let length: UInt32
        /// The last byte of the gateway, 192.0.2.x.
        let gateway: UInt32
    }

    /// How many of a hundred prefixes have each length.
    private static let shares: [(length: UInt32, share: UInt64)] = [
        (24, 59), (23, 10), (22, 10), (21, 5), (20, 5), (19, 4), (18, 2), (17, 1), (16, 1), (28, 1), (32, 2),
    ]

    private(set) var items: [Item] = []

    init(count: Int) {
        var random = Random(seed: 42)
        var seen: Set<UInt64> = []
        while items.count < count {
            let length = random.nextLength(Self.shares)
            let address = random.nextAddress() & (.max << (32 - length))
            guard seen.insert(UInt64(address) << 8 | UInt64(length)).inserted else { continue }
            items.append(Item(address: address, length: length, gateway: 2 + UInt32(random.next() % 64)))
        }
    }

    /// The lines for `ip -batch` that fill the main table.
    func printBatch() {
        for item in items {
            print("route add \(Self.text(item.address))/\(item.length) via 192.0.2.\(item.gateway)")
        }
    }

    private static func text(_ address: UInt32) -> String {
        "\(address >> 24).\(address >> 16 & 255).\(address >> 8 & 255).\(address & 255)"
    }
}

extension Random {
    /// A length, each as often as its share of a hundred says.
    mutating func nextLength(_ shares: [(length: UInt32, share: UInt64)]) -> UInt32 {
        var rest = next() % 100
        for (length, share) in shares {
            if rest < share { return length }
            rest -= share
        }
        preconditionFailure("the shares are less than a hundred")
    }

    /// An address of 1.0.0.0 to 223.255.255.255 beside 127.0.0.0/8 and 192.0.0.0/8, where the gateways are.
    mutating func nextAddress() -> UInt32 {
        while true {
            let address = UInt32(truncatingIfNeeded: next() >> 16)
            let first = address >> 24
            if (1..<224).contains(first), first != 127, first != 192 { return address }
        }
    }
}
