// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// A network at one moment, as the kernel's dumps and notifications describe it.
///
/// ```swift
/// var snapshot = NetworkSnapshot()
/// for change in recording { snapshot.apply(change) }
/// let answer = try snapshot.answer(to: RouteQuery(destination: IPAddress(192, 0, 2, 1)))
/// ```
///
/// It starts empty. A dump is applied like a series of notifications; ``dumpEnded()`` marks it complete. Changes
/// that the kernel makes without a message are derived, see ``apply(_:)``. It is a value: a copy is free until one
/// side changes.
///
/// Queries that it cannot decide throw, see ``answer(to:)``.
package struct NetworkSnapshot: Sendable {
    /// The interfaces by index.
    package internal(set) var links = LinkTable()
    /// The addresses of all interfaces, in the order of their messages.
    package var addresses: [InterfaceAddress] { addressBook.all }
    /// The neighbours; `nil` where neighbours were not dumped.
    package var neighbours: [Neighbour.Key: Neighbour]?
    /// The nexthop objects by number.
    package internal(set) var nexthopObjects: [UInt32: NexthopObject] = [:]
    /// The rules of both families, IPv4 first, each family's in the kernel's order.
    package var rules: [Rule] { rules(.v4) + rules(.v6) }

    /// The time in the kernel's ticks (1/100 s) from an arbitrary start, for the lifetimes of routes.
    ///
    /// A route with a lifetime ends that many ticks after its message. The caller advances it as time passes.
    package var clock: Int64 = 0
    /// The user of a ``RouteQuery`` that names none; `nil` where it is unknown.
    package var askingUser: UInt32?
    /// The release of the kernel that the network belongs to; `nil` for an unknown one, which is taken for a
    /// recent one.
    package var kernel: KernelRelease?
    /// Settings that hold for all interfaces.
    ///
    /// Dumps of links, addresses, routes and rules do not hold them; ``FamilySettings`` do. The kernel's counterpart
    /// is RTM_NEWNETCONF with the index `all`.
    package var settings = RoutingSettings()
    /// The families whose setting was dumped, and is not inferred from the state of nexthops.
    var knownIgnoring: Set<IPAddress.Family> = []

    var addressBook = AddressBook()
    var ruleLists = PerFamily(RuleList())
    /// The groups of nexthop objects by their members.
    var nexthopGroups: [UInt32: Set<UInt32>] = [:]
    /// The nexthop objects with an IPv4 gateway.
    var nexthopsVia: [IPAddress: Set<UInt32>] = [:]
    var pool = RouteAttributePool()
    var routeTables = RouteTables()
    var program = RuleProgram()

    /// Creates an empty network.
    package init() {}
}

// MARK: - Reading

extension NetworkSnapshot {
    /// How many routes there are.
    package var routeCount: Int { routeTables.count }

    /// All routes, by table and prefix in no promised order, within a prefix in the kernel's order.
    package var routes: [Route] {
        var routes: [Route] = []
        forEachChain { routes += $0 }
        return routes
    }

    /// The routes of a table.
    func routes(ofTable number: UInt32, _ family: IPAddress.Family) -> [Route] {
        var found: [Route] = []
        routeTables[number, family]?.forEachEntry { found += routes($0, $1.entries) }
        return found
    }

    /// Calls the body with the routes of each prefix of each table.
    package func forEachChain(_ body: ([Route]) -> Void) {
        for table in routeTables.tables {
            table.forEachEntry { prefix, chain in body(routes(prefix, chain.entries)) }
        }
    }

    /// The routes of each prefix of some tables that covers an address, from the longest prefix to the shortest.
    ///
    /// Where several tables have a prefix, the routes of the first come first. Each prefix is looked up when the
    /// iteration reaches it: most lookups read one.
    func chains(over address: IPAddress, inTables numbers: [UInt32]) -> some Sequence<[Route]> {
        let tables = numbers.compactMap { routeTables[$0, address.family] }
        return sequence(state: Int.max) { limit -> [[Route]]? in
            let matches = tables.compactMap { $0.longestMatch(address, shorterThan: limit) }
            guard let length = matches.map(\.length).max(), let prefix = IPPrefix(address, length: length)
            else {
                return nil
            }
            limit = length
            return matches.filter { $0.length == length }.map { routes(prefix, $0.value.entries) }
        }.joined()
    }

    /// The routes of all tables whose prefix covers an address.
    package func routes(over address: IPAddress) -> [Route] {
        Array(chains(over: address, inTables: routeTables.numbers).joined())
    }

    /// The nexthop groups that have a nexthop object as a member.
    package func groups(ofNexthop id: UInt32) -> Set<UInt32> { nexthopGroups[id] ?? [] }

    /// The rules of a family, in the kernel's order.
    package func rules(_ family: IPAddress.Family) -> [Rule] { ruleLists[family].all }

    /// The destinations of the routes through an interface.
    func destinations(through index: UInt32, _ family: IPAddress.Family) -> [IPPrefix] {
        var found: [IPPrefix] = []
        var scattered: Set<UInt32> = []
        for attributes in pool.index[.through(index, family)] {
            if let destination = pool.destination(attributes) {
                found.append(destination)
            } else {
                scattered.insert(attributes)
            }
        }
        found.sort { ($0.address, $0.length) < ($1.address, $1.length) }
        guard !scattered.isEmpty else { return found }
        for table in routeTables.tables where table.family == family {
            table.forEachEntry { prefix, chain in
                for entry in chain.entries where scattered.contains(entry.attributes) { found.append(prefix) }
            }
        }
        return found
    }

    func routes(_ prefix: IPPrefix, _ entries: [RouteEntry]) -> [Route] {
        entries.map { entry in
            var route = pool[entry.attributes]
            route.destination = prefix
            route.expires = entry.expires(clock)
            return route
        }
    }

    /// Whether the network is known to belong to a kernel older than a release.
    func isKernel(before major: Int, _ minor: Int) -> Bool {
        kernel.map { ($0.major, $0.minor) < (major, minor) } ?? false
    }

    /// The addresses of one interface.
    package func addresses(ofInterface index: UInt32, family: IPAddress.Family) -> [InterfaceAddress] {
        addressBook.addresses(ofInterface: index, family)
    }
}
