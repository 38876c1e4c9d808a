// SPDX-License-Identifier: Apache-2.0

import RoutingModel

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

    /// A host with these routes, as its dump describes it.
    func snapshot() -> NetworkSnapshot {
        var snapshot = NetworkSnapshot()
        let flags: LinkFlags = [.up, .running, .lowerUp]
        snapshot.apply(.link(LinkReport(Link(index: 2, name: "eth0", hardwareType: .ethernet, flags: flags))))
        let tables = [(0, Route.localTable), (32_766, Route.mainTable), (32_767, Route.defaultTable)]
        for (priority, table) in tables {
            let rule = Rule(family: .v4, priority: UInt32(priority), action: .lookup(table: table))
            snapshot.apply(.rule(rule))
        }
        for address: UInt32 in [0x7f00_0001, 0xc000_0201] { apply(address, 32, .local, 1, nil, &snapshot) }
        apply(0, 0, .unicast, 2, IPAddress(192, 0, 2, 2), &snapshot)
        for item in items {
            let gateway = IPAddress(v4: 0xc000_0200 | item.gateway)
            apply(item.address, Int(item.length), .unicast, 2, gateway, &snapshot)
        }
        snapshot.dumpEnded(knowsNeighbours: true)
        return snapshot
    }

    private func apply(
        _ address: UInt32,
        _ length: Int,
        _ type: RouteType,
        _ interface: UInt32,
        _ gateway: IPAddress?,
        _ snapshot: inout NetworkSnapshot
    ) {
        guard let prefix = IPPrefix(IPAddress(v4: address), length: length) else { return }
        let table = type == .local ? Route.localTable : Route.mainTable
        let leg = Nexthop(interfaceIndex: interface, gateway: gateway)
        snapshot.apply(.route(Route(destination: prefix, type: type, table: table, nexthops: [leg]), .last))
    }

    private static func text(_ address: UInt32) -> String {
        "\(address >> 24).\(address >> 16 & 255).\(address >> 8 & 255).\(address & 255)"
    }
}

/// Prefixes as a border router's IPv6 table has them: half of them /48.
///
/// All are below allocations in the registries' blocks of 2000::/3. They are the same for the same number of prefixes,
/// on every machine.
struct IPv6RouteSet {
    /// How many of a hundred prefixes have each length.
    private static let shares: [(length: Int, share: UInt64)] = [
        (48, 48), (32, 12), (44, 11), (40, 9), (36, 5), (29, 4), (46, 3), (47, 2), (42, 2), (33, 1), (34, 1),
        (38, 1),
        (64, 1),
    ]
    private static let blocks: [UInt64] = [0x200, 0x240, 0x260, 0x280, 0x2a0, 0x2c0]

    private(set) var entries: [PrefixEntry<AddressBits>] = []

    init(count: Int) {
        var random = Random(seed: 43)
        // A third of the allocations has most of the prefixes, as networks differ in size.
        let allocations = (0..<count / 8).map { _ in
            Self.blocks[Int(random.next() % 6)] << 52 | (random.next() >> 47) << 32
        }
        var seen: Set<PrefixEntry<AddressBits>> = []
        while entries.count < count {
            let busy = UInt64(allocations.count) / (random.next() % 4 == 0 ? 1 : 3)
            let length = random.nextLength(Self.shares)
            let address = allocations[Int(random.next() % busy)] | random.next() >> 32
            let key = AddressBits(high: address & ~(.max >> UInt64(length)), low: 0)
            let entry = PrefixEntry(key: key, length: length, value: 1)
            guard seen.insert(entry).inserted else { continue }
            entries.append(.init(key: key, length: length, value: UInt32(random.next() % 64)))
        }
    }

    /// Addresses inside the prefixes, each in one picked at random.
    func addresses(_ count: Int) -> [AddressBits] {
        var random = Random(seed: 8)
        return (0..<count).map { _ in
            let entry = entries[Int(random.next() % UInt64(entries.count))]
            let rest = random.next() & (.max >> UInt64(entry.length))
            return AddressBits(high: entry.key.high | rest, low: random.next())
        }
    }
}

/// A prefix of a table and its value.
struct PrefixEntry<Key: PrefixKey>: Hashable {
    let key: Key
    let length: Int
    let value: UInt32
}

extension PrefixTable {
    /// Makes a table of the entries, with storage that fits.
    init(_ entries: [PrefixEntry<Key>]) {
        self.init()
        for entry in entries { insert(entry.value, key: entry.key, length: entry.length) }
        compact()
    }
}

/// Numbers in an order that looks like chance and is always the same (xorshift).
struct Random {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }

    /// A length, each as often as its share of a hundred says.
    mutating func nextLength<Length>(_ shares: [(length: Length, share: UInt64)]) -> Length {
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
