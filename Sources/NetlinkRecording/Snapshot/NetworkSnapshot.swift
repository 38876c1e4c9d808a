// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// A network at one moment, as the kernel's dumps and notifications describe it.
///
/// ```
/// var snapshot = NetworkSnapshot()
/// for change in recording { snapshot.apply(change) }
/// let answer = try snapshot.answer(to: RouteQuery(destination: IPAddress(192, 0, 2, 1)))
/// ```
///
/// It starts empty. A dump is applied like a series of notifications. ``dumpEnded()`` marks it as complete. Changes
/// that the kernel makes without a message are derived, see ``apply(_:)``. It is a value: a copy is free until one
/// side changes.
///
/// Queries that it cannot decide throw, see ``answer(to:)``.
package struct NetworkSnapshot: Sendable {
    /// The interfaces by index.
    package internal(set) var links = LinkTable()
    /// The addresses of all interfaces, in the order of their messages.
    package var addresses: [InterfaceAddress] { addressBook.all }
    /// The neighbours; `nil` if they were not dumped.
    package var neighbours: [Neighbour.Key: Neighbour]?
    /// The nexthop objects by number.
    package internal(set) var nexthopObjects: [UInt32: NexthopObject] = [:]
    /// The rules of both families, IPv4 first, in the kernel's order within a family.
    package var rules: [Rule] { rules(.v4) + rules(.v6) }

    /// The time in the kernel's ticks (1/100 s) from an arbitrary start, for the lifetimes of routes.
    ///
    /// A route with a lifetime ends that many ticks after its message. The caller advances this clock.
    package var clock: Int64 = 0
    /// The user of a ``RouteQuery`` that names none; `nil` if it is unknown.
    package var askingUser: UInt32?
    /// The user as which the kernel judges an IPv6 packet that arrives: 0, the user of the machine.
    ///
    /// In a user namespace where no number names that user, it is one that no rule matches (INVALID_UID).
    package var inputUser: UInt32 = 0
    /// The release of the network's kernel; `nil` if it is unknown, which is treated as a recent release.
    package var kernel: KernelRelease?
    /// The settings for all interfaces.
    ///
    /// Dumps of links, addresses, routes and rules do not contain them; a ``SettingsReport`` does. The kernel's
    /// counterpart is RTM_NEWNETCONF with the index `all`.
    package var settings = RoutingSettings()
    /// The families whose setting was dumped.
    ///
    /// For others, it is inferred from the state of nexthops.
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
    /// The number of routes.
    package var routeCount: Int { routeTables.count }

    /// All routes, in no particular order of tables and prefixes.
    ///
    /// Routes of a prefix are in the kernel's order.
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

    /// The routes of some tables that match an address, grouped by prefix, from the longest prefix to the shortest.
    ///
    /// If several tables have the same prefix, the routes of the first table come first. A prefix is looked up only
    /// when the iteration reaches it, because most lookups read only one.
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

    /// The routes of all tables that match an address.
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

    /// Whether the network is known to have a kernel older than a release.
    func isKernel(before major: Int, _ minor: Int) -> Bool {
        kernel.map { ($0.major, $0.minor) < (major, minor) } ?? false
    }

    /// The addresses of one interface.
    package func addresses(ofInterface index: UInt32, family: IPAddress.Family) -> [InterfaceAddress] {
        addressBook.addresses(ofInterface: index, family)
    }
}

// MARK: - Parts

/// The interfaces of a network by index, with the relations between them.
///
/// Finding the interfaces that are stacked on an interface takes time only for those.
package struct LinkTable: Hashable, Sendable {
    private var links: [UInt32: Link] = [:]
    /// For an interface, the interfaces whose ``Link/lowerHere`` it is.
    private var uppers: [UInt32: Set<UInt32>] = [:]
    /// For an interface, the interfaces whose ``Link/master`` it is.
    private var ports: [UInt32: Set<UInt32>] = [:]

    /// The indices, in no particular order.
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

    /// The interfaces stacked on `index`, such as its VLANs, sorted by index.
    func uppers(of index: UInt32) -> [UInt32] {
        uppers[index]?.sorted() ?? []
    }

    /// The interfaces whose master is `index`, in no particular order.
    package func ports(of index: UInt32) -> Set<UInt32> {
        ports[index] ?? []
    }
}

/// The rules of one family, in the kernel's order: by priority, then in order of insertion.
struct RuleList: Sendable {
    private var byPriority: [UInt32: [Rule]] = [:]
    /// The priorities, ascending.
    private var priorities: [UInt32] = []
    private var members: Set<Rule> = []

    /// The number of rules.
    var count: Int { members.count }
    /// Whether there are no rules.
    var isEmpty: Bool { members.isEmpty }
    /// All rules.
    var all: [Rule] { priorities.flatMap { byPriority[$0] ?? [] } }

    /// Whether there is a rule of a priority.
    func contains(priority: UInt32) -> Bool {
        byPriority[priority] != nil
    }

    /// Inserts a rule after those of the same priority, unless it exists.
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

    /// The number of lower priorities.
    private func index(of priority: UInt32) -> Int {
        priorities.partitioningIndex { $0 >= priority }
    }
}

/// Two values: one for IPv4 and one for IPv6.
struct PerFamily<Value: Sendable>: Sendable {
    private var v4: Value
    private var v6: Value

    /// Creates the same value for both families.
    init(_ value: Value) {
        (v4, v6) = (value, value)
    }

    /// The value of a family.
    subscript(_ family: IPAddress.Family) -> Value {
        _read { if family == .v4 { yield v4 } else { yield v6 } }
        _modify { if family == .v4 { yield &v4 } else { yield &v6 } }
    }
}

/// A summary of the rules and tables of a snapshot, for hosts with the initial rules.
struct RuleProgram: Sendable {
    /// Whether the IPv4 rules are the initial three of a network namespace.
    fileprivate(set) var hasPlainIPv4 = false
    /// Whether initial IPv6 rules were removed, and it is unknown whether a rule was ever added.
    fileprivate(set) var lacksIPv6Rules = false
    /// Whether there was ever an IPv6 rule other than the initial ones.
    fileprivate var hadIPv6Rule = false
    /// The indices of tables.
    fileprivate(set) var local4: Int?
    fileprivate(set) var main4: Int?
    /// Whether the default table exists, which the last IPv4 rule uses.
    fileprivate(set) var hasIPv4Default = false

    fileprivate static let plain4 = Rule.standard.filter { $0.family == .v4 }
    fileprivate static let plain6 = Rule.standard.filter { $0.family == .v6 }
}

extension NetworkSnapshot {
    /// Updates the summary after a change of the rules or tables, in constant time.
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
/// Kernels answer some queries differently. ``NetworkSnapshot/kernel`` selects the behaviour of a release.
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
