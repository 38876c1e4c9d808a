// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRecording
internal import RoutingModel
internal import TestSupport

/// Draws queries whose answers are likely to go wrong: at the edges of the prefixes that a snapshot has.
struct QueryGenerator {
    /// Groups, broadcasts, loopback and link-local addresses, which kernels treat by rules of their own.
    private static let special: [IPAddress] = [
        "0.0.0.0", "255.255.255.255", "224.0.0.1", "224.0.1.1", "239.1.1.1", "127.0.0.1", "127.1.2.3",
        "10.0.0.255", "10.0.1.0", "169.254.1.1", "240.0.0.1", "::", "::1", "fe80::1", "fe80::99", "ff02::1",
        "ff05::1", "ff01::1", "ff0e::1", "::ffff:10.0.0.1", "64:ff9b::1", "2001:db8::", "2002::1",
    ].compactMap { IPAddress($0) }

    private var random: SeededGenerator
    private let prefixes: [IPPrefix]
    private let sources: [IPAddress.Family: [IPAddress]]
    private let interfaces: [UInt32]
    private let users: [UInt32?]

    init(seed: UInt64, about snapshot: NetworkSnapshot) {
        random = SeededGenerator(seed: seed)
        prefixes = Set(snapshot.routes.map(\.destination)).sorted()
        let own = Set(snapshot.addresses.map(\.address)).sorted()
        let foreign = ["10.0.0.77", "203.0.113.1", "2001:db8:1::77", "fd00::7"].compactMap { IPAddress($0) }
        sources = Dictionary(grouping: own + own + foreign, by: \.family)
        interfaces = snapshot.links.keys.sorted()
        users = [nil, nil, 0, 1_500].filter { $0.map(Namespace.knows) ?? true }
    }

    /// The next query.
    mutating func next() -> RouteQuery {
        var query = RouteQuery(destination: destination())
        // Half of the queries are plain.
        if random.once(in: 2) { return query }
        if random.once(in: 2) { query.outputInterface = random.pick(interfaces) }
        if random.once(in: 3) { query.mark = random.pick([1, 7, 0x100, 0x107]) }
        if random.once(in: 3) { query.source = random.pick(sources[query.destination.family] ?? [.anyV4]) }
        query.user = random.pick(users)
        // There is no such interface: both must say so.
        if random.once(in: 500) { query.outputInterface = 999_999 }
        // A packet to a group, whose gateway and source are not those of the entry.
        query.selectsNexthop =
            query.destination.isIPv4Group && query.outputInterface != 0 && random.once(in: 2)
        return query
    }

    private mutating func destination() -> IPAddress {
        guard !prefixes.isEmpty, !random.once(in: 10) else {
            return random.once(in: 3) ? random.pick(Self.special) : anywhere(random.once(in: 2) ? .v4 : .v6)
        }
        let prefix = random.pick(prefixes)
        switch random.below(6) {
        case 0: return prefix.address
        case 1: return prefix.lastAddress
        case 2: return IPAddress(prefix.family, prefix.address.number &- 1)
        case 3: return IPAddress(prefix.family, prefix.lastAddress.number &+ 1)
        case 4: return IPAddress(prefix.family, prefix.address.number &+ 1)
        default:
            let free = prefix.address.number ^ prefix.lastAddress.number
            return IPAddress(prefix.family, prefix.address.number | anywhere(prefix.family).number & free)
        }
    }

    private mutating func anywhere(_ family: IPAddress.Family) -> IPAddress {
        IPAddress(family, UInt128(random.next()) << 64 | UInt128(random.next()))
    }
}

extension IPAddress {
    fileprivate var number: UInt128 { UInt128(high) << 64 | UInt128(low) }

    /// The address with a number, of which IPv4 takes the last 32 bits.
    fileprivate init(_ family: Family, _ number: UInt128) {
        switch family {
        case .v4: self.init(v4: UInt32(truncatingIfNeeded: number))
        case .v6: self.init(v6High: UInt64(number >> 64), low: UInt64(truncatingIfNeeded: number))
        }
    }
}
