// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Facts of one kind, by what they are about; a failure is remembered as a fact is.
///
/// There are few of a kind, so a search is as fast as a table.
struct KnownFacts<Key: Equatable, Value> {
    /// The results, `nil` for what is missing.
    private var facts: [(key: Key, result: Result<Value, ReachabilityError>?)] = []
    private var isMissing = false

    /// A fact; `nil` if it is missing, which is noted.
    mutating func find(_ key: Key) -> Result<Value, ReachabilityError>? {
        if let known = facts.first(where: { $0.key == key }) { return known.result }
        facts.append((key, nil))
        isMissing = true
        return nil
    }

    /// A fact.
    mutating func get(_ key: Key) throws(Interruption) -> Value {
        switch find(key) {
        case .success(let value): return value
        case .failure(let error): throw .failed(error)
        case nil: throw .missing
        }
    }

    /// Asks for all that is missing, one after the other; returns whether that was anything.
    mutating func ask(_ body: (Key) throws(ReachabilityError) -> Value) -> Bool {
        askTogether { keys in
            keys.map { key in Result { () throws(ReachabilityError) in try body(key) } }
        }
    }

    /// Asks for all that is missing at once; returns whether that was anything.
    mutating func askTogether(_ body: ([Key]) -> [Result<Value, ReachabilityError>]) -> Bool {
        guard isMissing else { return false }
        isMissing = false
        let places = facts.indices.filter { facts[$0].result == nil }
        for (place, result) in zip(places, body(places.map { facts[$0].key })) {
            facts[place].result = result
        }
        return true
    }

    /// What is missing, in words.
    func missing(_ words: String) -> [String] {
        facts.filter { $0.result == nil }.map { $0.key is Whole ? words : "\(words) \($0.key)" }
    }
}

extension KnownFacts where Key == Whole {
    /// See ``find(_:)``.
    mutating func find() -> Result<Value, ReachabilityError>? { find(.host) }

    /// See ``get(_:)``.
    mutating func get() throws(Interruption) -> Value { try get(.host) }
}

/// The key of a fact that there is once.
enum Whole {
    case host
}

/// What a batch knows about the host besides routes and interfaces.
///
/// Few batches need any of it.
final class KnownHost {
    /// The addresses of the host.
    var addresses = KnownFacts<Whole, [InterfaceAddress]>()
    /// The interfaces of the host.
    var links = KnownFacts<Whole, [Link]>()
    /// The policy rules of both families.
    var rules = KnownFacts<Whole, [Rule]>()
    /// The routes that send nothing, by an address that they have.
    var refusingRoutes = KnownFacts<IPAddress, [Route]>()
    /// The user of a query without one; `nil` where it is not known.
    var askingUser = KnownFacts<Whole, UInt32?>()
    /// The addresses to which a table has a route of their own.
    var hostRoutes = KnownFacts<UInt32, [IPAddress]>()
    /// The remote addresses of connected sockets; none where they are not known.
    var connectedPeers = KnownFacts<Whole, [IPAddress]>()
    /// The name servers; `nil` if none are known.
    var nameservers = KnownFacts<Whole, [IPAddress]?>()
    /// What shows whether anything has answered; `nil` where it is not known.
    var answers = KnownFacts<Whole, AnswerReading?>()
    /// The hardware addresses of neighbours; `nil` where none are known.
    var hardwareAddresses = KnownFacts<Whole, [Neighbour.Key: [UInt8]]?>()
    /// The names of wireless networks, by the index of the interface.
    var ssids = KnownFacts<UInt32, [UInt8]?>()
    /// The indices of interfaces, by their names; `nil` where there is none.
    var indices = KnownFacts<String, UInt32?>()
    /// The ends that the forwarding table of a tunnel has.
    var forwardingEnds = KnownFacts<UInt32, Set<TunnelEnds>>()
    /// The peers of WireGuard interfaces; `nil` where they are not shown.
    var wireGuardPeers = KnownFacts<UInt32, WireGuardPeers?>()
    /// The source addresses that a socket without one can get.
    var sources = KnownFacts<SourceQuery, [IPAddress]>()
    /// How the kernel chooses one of several nexthops; `nil` where that is not known.
    var multipathHashPolicies = KnownFacts<IPAddress.Family, MultipathHashPolicy?>()
    /// What connect(2) gives a socket; `nil` where no socket can show it.
    var connections = KnownFacts<RouteQuery, ConnectOutcome?>()
    /// The settings that decide about packets that arrive on an interface; `nil` for one that does not exist.
    var inputSettings = KnownFacts<UInt32, InputSettings?>()
    /// The IPv4 routes over an address in a table.
    var routes = KnownFacts<TableQuery, [Route]>()
    /// What names resolve to.
    var names = KnownFacts<NameQuery, ReachabilityTarget.Resolution>()
    /// The policy of the host that orders addresses.
    var addressPolicy = KnownFacts<Whole, AddressPolicy>()

    /// What decides which source addresses a socket can get: the packet, and the answer without a source.
    struct SourceQuery: Equatable, CustomStringConvertible {
        let packet: RouteQuery
        let answer: RouteAnswer

        var description: String { "\(packet.destination)" }
    }

    /// An address, and the table in which it is looked up.
    struct TableQuery: Equatable, CustomStringConvertible {
        let table: UInt32
        let address: IPAddress

        var description: String { "\(address) in table \(table)" }
    }

    /// What is missing, in words.
    var missing: [String] {
        [
            addresses.missing("addresses"), links.missing("interfaces"), rules.missing("rules"),
            hostRoutes.missing("host routes in table"), refusingRoutes.missing("refusing routes for"),
            askingUser.missing("user"),
            connectedPeers.missing("peers of sockets"), nameservers.missing("name servers"),
            answers.missing("answers"), hardwareAddresses.missing("neighbours"),
            ssids.missing("SSID of interface"),
            indices.missing("index of"), forwardingEnds.missing("forwarding table of interface"),
            wireGuardPeers.missing("WireGuard peers of interface"), sources.missing("sources for"),
            multipathHashPolicies.missing("hash of nexthops of"), connections.missing("connect(2) of"),
            names.missing("addresses of"), addressPolicy.missing("policy of addresses"),
            connections.missing("connect(2) of"), names.missing("addresses of"),
            inputSettings.missing("settings of interface"), routes.missing("routes over"),
        ].flatMap(\.self)
    }

    /// Asks for all that is missing; returns whether that was anything.
    func ask(_ facts: NetworkFacts) -> Bool {
        let routing = facts.routing
        var isAsked = false
        func note(_ wasMissing: Bool) { if wasMissing { isAsked = true } }
        note(addresses.ask { (_) throws(ReachabilityError) in try routing.addresses() })
        note(links.ask { (_) throws(ReachabilityError) in try routing.links() })
        note(rules.ask { (_) throws(ReachabilityError) in try routing.rules() })
        note(
            hostRoutes.ask { (table) throws(ReachabilityError) in try routing.hostRoutes(inTable: table) })
        note(
            refusingRoutes.ask { (destination) throws(ReachabilityError) in
                try routing.refusingRoutes(for: destination)
            })
        note(askingUser.ask { _ in routing.askingUser })
        note(connectedPeers.ask { _ in routing.connectedPeers() })
        note(nameservers.ask { _ in facts.nameservers() })
        note(
            answers.ask { (_) throws(ReachabilityError) in
                let (time, timeAsleep) = (facts.clock.now, facts.clock.timeAsleep)
                return try routing.answerRecord().map {
                    AnswerReading(record: $0, time: time, timeAsleep: timeAsleep)
                }
            })
        note(hardwareAddresses.ask { (_) throws(ReachabilityError) in try routing.hardwareAddresses() })
        note(ssids.ask { (index) throws(ReachabilityError) in try routing.ssid(ofInterface: index) })
        note(indices.ask { (name) throws(ReachabilityError) in try routing.interfaceIndex(named: name) })
        note(
            forwardingEnds.ask { (index) throws(ReachabilityError) in
                try routing.forwardingEnds(ofInterface: index)
            })
        note(
            wireGuardPeers.ask { (index) throws(ReachabilityError) in
                try routing.wireGuardPeers(ofInterface: index)
            })
        note(
            sources.ask { (query) throws(ReachabilityError) in
                try routing.sourceAddresses(for: query.packet, after: query.answer)
            })
        note(multipathHashPolicies.ask { family in routing.multipathHashPolicy(family) })
        note(
            inputSettings.ask { (index) throws(ReachabilityError) in
                try routing.inputSettings(ofInterface: index)
            })
        note(
            routes.ask { (query) throws(ReachabilityError) in
                try routing.routes(inTable: query.table, over: query.address)
            })
        note(connections.ask { (query) throws(ReachabilityError) in try routing.connect(query) })
        note(names.askTogether(facts.resolver.resolve))
        note(addressPolicy.ask { _ in facts.addressPolicy() })
        return isAsked
    }
}

/// The facts about interfaces that a batch knows.
struct KnownInterfaces {
    /// Facts by the index of the interface; about the same one, those that came with the answers, the newest first, and
    /// then those that were asked for since.
    private var readings: [InterfaceReading] = []
    /// Interfaces that do not exist.
    private var absent: Set<UInt32> = []
    /// The errors of those that were asked for in vain: less detail can be known.
    private var failures: [(index: UInt32, detail: QueryDetail, error: ReachabilityError)] = []
    private var unknown: [(index: UInt32, detail: QueryDetail)] = []
    /// Whether one of the interfaces is a tunnel.
    private(set) var haveTunnels = false

    /// The facts about an interface; `nil` when there is none.
    mutating func facts(
        aboutInterface index: UInt32,
        _ detail: QueryDetail
    ) throws(Interruption) -> InterfaceFacts? {
        if let place = place(of: index, detail) { return readings[place].facts }
        try checkAbsence(of: index, detail)
        return nil
    }

    /// Whether an interface exists.
    mutating func exists(_ index: UInt32, _ detail: QueryDetail) throws(Interruption) -> Bool {
        if place(of: index, detail) != nil { return true }
        try checkAbsence(of: index, detail)
        return false
    }

    /// Returns if it is known that an interface does not exist.
    private mutating func checkAbsence(
        of index: UInt32,
        _ detail: QueryDetail
    ) throws(Interruption) {
        if absent.contains(index) { return }
        if let failure = failures.first(where: { $0.index == index && $0.detail == detail }) {
            throw .failed(failure.error)
        }
        if !unknown.contains(where: { $0 == (index, detail) }) { unknown.append((index, detail)) }
        throw .missing
    }

    /// The traits of an interface whose facts are known; `nil` for another one.
    func knownTraits(ofInterface index: UInt32, _ detail: QueryDetail) -> InterfaceTraits? {
        place(of: index, detail).map { readings[$0].facts.traits }
    }

    /// The facts about an interface, if they are known.
    func knownFacts(aboutInterface index: UInt32, _ detail: QueryDetail) -> InterfaceFacts? {
        place(of: index, detail).map { readings[$0].facts }
    }

    private func place(of index: UInt32, _ detail: QueryDetail) -> Int? {
        let first = readings.partitioningIndex { $0.facts.index >= index }
        return readings[first...].prefix { $0.facts.index == index }.firstIndex { $0.suffices(for: detail) }
    }

    /// Adds facts that came with answers: a later one can be about the same interface.
    mutating func add(_ found: [InterfaceReading]) {
        guard !found.isEmpty else { return }
        readings = readings.isEmpty ? found : found + readings
        // The newest ones stay first: the order is stable.
        if readings.count > 1 { readings.sort { $0.facts.index < $1.facts.index } }
        for reading in found { note(reading.facts) }
    }

    /// Asks for all that is missing; returns whether that was anything.
    mutating func ask(_ routing: any RoutingSource) -> Bool {
        guard !unknown.isEmpty else { return false }
        for (index, detail) in unknown where place(of: index, detail) == nil {
            do throws(ReachabilityError) {
                guard let found = try routing.facts(aboutInterface: index, detail: detail) else {
                    absent.insert(index)
                    continue
                }
                let place = readings.partitioningIndex { $0.facts.index > index }
                readings.insert(InterfaceReading(found, detail), at: place)
                note(found)
            } catch {
                failures.append((index, detail, error))
            }
        }
        unknown = []
        return true
    }

    private mutating func note(_ facts: InterfaceFacts) {
        if facts.traits.contains(.isTunnel) { haveTunnels = true }
    }

    /// What is missing, in words.
    var missing: [String] { Set(unknown.map(\.index)).sorted().map { "interface \($0)" } }

    /// Forgets which interfaces do not exist, and which were asked for in vain.
    mutating func forgetAbsent() {
        (absent, failures) = ([], [])
    }
}
