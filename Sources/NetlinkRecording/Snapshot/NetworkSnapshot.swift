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

// MARK: - Parts

/// The interfaces of a network by index, and which of them are above others.
///
/// It finds the interfaces on one in the time that they take, however many others there are.
package struct LinkTable: Hashable, Sendable {
    private var links: [UInt32: Link] = [:]
    /// The interfaces whose ``Link/lowerHere`` is an interface.
    private var uppers: [UInt32: Set<UInt32>] = [:]
    /// The interfaces whose ``Link/master`` is an interface.
    private var ports: [UInt32: Set<UInt32>] = [:]

    /// The indexes, in no particular order.
    package var keys: some Collection<UInt32> { links.keys }
    /// The interfaces, in no particular order.
    package var values: some Collection<Link> { links.values }
    /// The interfaces by index.
    package var byIndex: [UInt32: Link] { links }

    /// The interface of an index.
    package subscript(_ index: UInt32) -> Link? {
        get { links[index] }
        set {
            let old = links[index]
            if old?.lowerHere != newValue?.lowerHere {
                if let lower = old?.lowerHere { uppers.remove(index, at: lower) }
                if let lower = newValue?.lowerHere { uppers[lower, default: []].insert(index) }
            }
            if old?.master != newValue?.master {
                if let master = old?.master { ports.remove(index, at: master) }
                if let master = newValue?.master { ports[master, default: []].insert(index) }
            }
            links[index] = newValue
        }
    }

    /// The interfaces on one, such as its VLANs, by index.
    func uppers(of index: UInt32) -> [UInt32] {
        uppers[index]?.sorted() ?? []
    }

    /// The interfaces that have one as their master, in no particular order.
    package func ports(of index: UInt32) -> Set<UInt32> {
        ports[index] ?? []
    }

    /// A value of each interface by index.
    package func mapValues<Value>(_ transform: (Link) -> Value) -> [UInt32: Value] {
        links.mapValues(transform)
    }
}

/// The rules of one family, in the kernel's order: by priority, then in order of insertion.
struct RuleList: Sendable {
    private var byPriority: [UInt32: [Rule]] = [:]
    /// The priorities, ascending.
    private var priorities: [UInt32] = []
    private var members: Set<Rule> = []

    /// How many there are.
    var count: Int { members.count }
    /// Whether there is none.
    var isEmpty: Bool { members.isEmpty }
    /// All of them.
    var all: [Rule] { priorities.flatMap { byPriority[$0] ?? [] } }

    /// Whether there is a rule of a priority.
    func contains(priority: UInt32) -> Bool {
        byPriority[priority] != nil
    }

    /// Inserts a rule behind those of its priority, unless it is present.
    mutating func insert(_ rule: Rule) {
        guard members.insert(rule).inserted else { return }
        if !contains(priority: rule.priority) {
            priorities.insert(rule.priority, at: index(of: rule.priority))
        }
        byPriority[rule.priority, default: []].append(rule)
    }

    /// Removes a rule.
    mutating func remove(_ rule: Rule) {
        guard members.remove(rule) != nil else { return }
        byPriority[rule.priority]?.removeAll { $0 == rule }
        guard byPriority[rule.priority]?.isEmpty ?? false else { return }
        byPriority[rule.priority] = nil
        priorities.remove(at: index(of: rule.priority))
    }

    /// How many priorities are lower than one.
    private func index(of priority: UInt32) -> Int {
        priorities.partitioningIndex { $0 >= priority }
    }
}

/// A value for IPv4 and one for IPv6.
struct PerFamily<Value: Sendable>: Sendable {
    private var v4: Value
    private var v6: Value

    /// Gives both families the same value.
    init(_ value: Value) {
        (v4, v6) = (value, value)
    }

    /// The value of a family.
    subscript(_ family: IPAddress.Family) -> Value {
        _read { if family == .v4 { yield v4 } else { yield v6 } }
        _modify { if family == .v4 { yield &v4 } else { yield &v6 } }
    }
}

/// A summary of the rules and tables of a snapshot, for hosts whose rules are the initial ones.
struct RuleProgram: Sendable {
    /// Whether the IPv4 rules are the initial three of a network namespace.
    fileprivate(set) var hasPlainIPv4 = false
    /// Whether one or both of the initial IPv6 rules were removed, and it is unknown whether one was ever added.
    fileprivate(set) var lacksIPv6Rules = false
    /// Whether another IPv6 rule than the initial ones was there at a time.
    fileprivate var hadIPv6Rule = false
    /// Places of tables.
    fileprivate(set) var local4: Int?
    fileprivate(set) var main4: Int?
    /// Whether there is a table behind the main one.
    fileprivate(set) var hasIPv4Default = false

    fileprivate static let plain4 = Rule.standard.filter { $0.family == .v4 }
    fileprivate static let plain6 = Rule.standard.filter { $0.family == .v6 }
}

extension NetworkSnapshot {
    /// Summarises the rules and tables in constant time, after a change of them.
    mutating func updateProgram() {
        let (rules4, rules6) = (ruleLists[.v4], ruleLists[.v6])
        program.hasPlainIPv4 = rules4.count == RuleProgram.plain4.count && rules4.all == RuleProgram.plain4
        program.hadIPv6Rule =
            program.hadIPv6Rule || rules6.count > RuleProgram.plain6.count
            || !rules6.all.allSatisfy(RuleProgram.plain6.contains)
        program.lacksIPv6Rules = !program.hadIPv6Rule && rules6.count < RuleProgram.plain6.count
        program.local4 = routeTables.index(ofTable: Route.localTable, .v4)
        program.main4 = routeTables.index(ofTable: Route.mainTable, .v4)
        program.hasIPv4Default = routeTables.index(ofTable: Route.defaultTable, .v4) != nil
    }
}

// MARK: - Kernel

/// The release of a Linux kernel, as `uname -r` prints it, without the patch level.
///
/// Kernels answer some queries differently; ``NetworkSnapshot/kernel`` selects the rules of one of them.
package struct KernelRelease: Hashable, Sendable {
    /// The first number: 6 in `6.1.0-56-amd64`.
    package var major: Int
    /// The second number: 1 in `6.1.0-56-amd64`.
    package var minor: Int

    /// Creates a release from its numbers.
    package init(_ major: Int, _ minor: Int) {
        self.major = major
        self.minor = minor
    }

    /// Reads the release from `uname -r`, or from a line such as `Linux 6.1.0-56-amd64 x86_64`.
    ///
    /// - Returns: `nil` if no word of the text begins with two numbers and a dot between them, or if the text names
    ///   another operating system first.
    package init?(_ text: some StringProtocol) {
        var words = text.split(separator: " ")[...]
        if words.count > 1 {
            guard words.removeFirst() == "Linux" else { return nil }
        }
        guard let parts = words.first?.split(separator: ".", omittingEmptySubsequences: false),
            parts.count > 1, let major = Int(parts[0]), major >= 0,
            let minor = Int(parts[1].prefix { $0.isASCII && $0.isNumber })
        else { return nil }
        self.init(major, minor)
    }
}
