// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Facts of one kind, by their keys.
///
/// There are few of a kind, so a search is as fast as a table.
final class KnownFacts<Key: Equatable, Value> {
    typealias Fact = Result<Value, ReachabilityError>

    /// What the facts are, in words that a key follows.
    private let words: String
    private let answers: (NetworkFacts, [Key]) -> [Fact]
    /// The results, `nil` for what is missing.
    private var facts: [(key: Key, result: Fact?)] = []
    private var isMissing = false

    fileprivate init(_ words: String, _ answers: @escaping (NetworkFacts, [Key]) -> [Fact]) {
        (self.words, self.answers) = (words, answers)
    }

    /// A fact; `nil` if it is missing, which is noted.
    func find(_ key: Key) -> Fact? {
        if let known = facts.first(where: { $0.key == key }) { return known.result }
        facts.append((key, nil))
        isMissing = true
        return nil
    }

    /// A fact.
    func get(_ key: Key) throws(Interruption) -> Value {
        switch find(key) {
        case .success(let value): return value
        case .failure(let error): throw .failed(error)
        case nil: throw .missing
        }
    }
}

extension KnownFacts where Key == Whole {
    /// See ``find(_:)``.
    func find() -> Fact? { find(.host) }

    /// See ``get(_:)``.
    func get() throws(Interruption) -> Value { try get(.host) }
}

/// The key of facts that have a single value for the whole host.
enum Whole {
    case host
}

/// Facts of one kind, to ask for those that are missing.
private protocol AskedFacts {
    /// What is missing, in words.
    var missing: [String] { get }

    /// Asks for all that is missing; returns whether that was anything.
    func ask(_ facts: NetworkFacts) -> Bool
}

extension KnownFacts: AskedFacts {
    var missing: [String] {
        facts.filter { $0.result == nil }.map { $0.key is Whole ? words : "\(words) \($0.key)" }
    }

    func ask(_ source: NetworkFacts) -> Bool {
        guard isMissing else { return false }
        isMissing = false
        let places = facts.indices.filter { facts[$0].result == nil }
        for (place, result) in zip(places, answers(source, places.map { facts[$0].key })) {
            facts[place].result = result
        }
        return true
    }
}

/// What a batch knows about the host besides routes and interfaces.
///
/// Few batches need any of it. A kind of facts is made when it is first read.
final class KnownHost {
    /// See ``HostQuery``, for these and those that follow.
    lazy var addresses = facts("addresses", HostQuery.addresses)
    lazy var links = facts("interfaces", HostQuery.links)
    lazy var rules = facts("rules", HostQuery.rules)
    /// Asked for once for all addresses of a family, as the kernel lists whole tables.
    lazy var refusingRoutes = made(
        KnownFacts("refusing routes for") { source, addresses in
            let routes = Dictionary(grouping: addresses, by: \.family).mapValues { addresses in
                Result { () throws(ReachabilityError) in
                    try source.routing.answer(.refusingRoutes(over: addresses) { $0 })
                }
            }
            return addresses.map { address in
                routes[address.family, default: .success([])].map {
                    $0.filter { $0.destination.contains(address) }
                }
            }
        })
    lazy var askingUser = facts("user", HostQuery.askingUser)
    lazy var hostRoutes = facts("host routes in table", HostQuery.hostRoutes)
    lazy var hardwareAddresses = facts("neighbours", HostQuery.hardwareAddresses)
    lazy var ssids = facts("SSID of interface", HostQuery.ssid)
    lazy var indices = facts("index of", HostQuery.interfaceIndex)
    lazy var forwardingEnds = facts("forwarding table of interface", HostQuery.forwardingEnds)
    lazy var wireGuardPeers = facts("WireGuard peers of interface", HostQuery.wireGuardPeers)
    lazy var sources = facts("sources for", HostQuery.sourceAddresses)
    lazy var multipathHashPolicies = facts("hash of nexthops of", HostQuery.multipathHashPolicy)
    lazy var connections = facts("connect(2) of", HostQuery.connect)
    lazy var inputSettings = facts("settings of interface", HostQuery.inputSettings)
    lazy var routes = facts("routes over", HostQuery.routes)
    /// What names resolve to.
    lazy var names = made(KnownFacts("addresses of") { $0.resolver.resolve($1) })
    /// The name servers; `nil` if none are known.
    lazy var nameservers = fact("name servers") { $0.nameservers() }
    /// The policy of the host that orders addresses.
    lazy var addressPolicy = fact("policy of addresses") { $0.addressPolicy() }
    /// What shows whether anything has answered; `nil` where it is not known.
    lazy var answers = fact("answers") { (facts) throws(ReachabilityError) in
        let (time, timeAsleep) = (facts.clock.now, facts.clock.timeAsleep)
        return try facts.routing.answer(
            .answerRecord { $0.map { AnswerReading(record: $0, time: time, timeAsleep: timeAsleep) } })
    }

    /// The facts that were read.
    private var read: [any AskedFacts] = []

    /// What is missing, in words.
    var missing: [String] { read.flatMap(\.missing) }

    /// Asks for all that is missing; returns whether that was anything.
    func ask(_ source: NetworkFacts) -> Bool {
        read.reduce(false) { $1.ask(source) || $0 }
    }

    private func made<Key, Value>(_ facts: KnownFacts<Key, Value>) -> KnownFacts<Key, Value> {
        read.append(facts)
        return facts
    }

    /// Facts by what they are about.
    private func facts<Key: Equatable, Value>(
        _ words: String,
        _ query: @escaping (Key, @escaping (Value) -> Value) -> HostQuery<Value>
    ) -> KnownFacts<Key, Value> {
        made(
            KnownFacts(words) { source, keys in
                keys.map { key in
                    Result { () throws(ReachabilityError) in
                        try source.routing.answer(query(key) { $0 })
                    }
                }
            })
    }

    /// A fact that there is once.
    private func facts<Value>(
        _ words: String,
        _ query: @escaping (@escaping (Value) -> Value) -> HostQuery<Value>
    ) -> KnownFacts<Whole, Value> {
        fact(words) { (source) throws(ReachabilityError) in try source.routing.answer(query { $0 }) }
    }

    private func fact<Value>(
        _ words: String,
        _ answer: @escaping (NetworkFacts) throws(ReachabilityError) -> Value
    ) -> KnownFacts<Whole, Value> {
        made(
            KnownFacts(words) { source, _ in
                [Result { () throws(ReachabilityError) in try answer(source) }]
            })
    }
}

/// The facts of a batch about interfaces.
struct KnownInterfaces {
    /// Facts sorted by the index of the interface.
    ///
    /// For the same interface: facts that came with answers, the newest first, and then facts that were queried
    /// since.
    private var readings: [InterfaceReading] = []
    /// Interfaces that do not exist.
    private var absent: Set<UInt32> = []
    /// The errors of failed queries.
    ///
    /// Facts with less detail can still be known.
    private var failures: [(index: UInt32, detail: QueryDetail, error: ReachabilityError)] = []
    private var unknown: [(index: UInt32, detail: QueryDetail)] = []
    /// Whether one of the interfaces is a tunnel.
    private(set) var haveTunnels = false

    /// The facts about an interface; `nil` if it does not exist.
    mutating func facts(
        aboutInterface index: UInt32,
        _ detail: QueryDetail
    ) throws(Interruption) -> InterfaceFacts? {
        if let facts = knownFacts(aboutInterface: index, detail) { return facts }
        if absent.contains(index) { return nil }
        if let failure = failures.first(where: { $0.index == index && $0.detail == detail }) {
            throw .failed(failure.error)
        }
        if !unknown.contains(where: { $0 == (index, detail) }) { unknown.append((index, detail)) }
        throw .missing
    }

    /// The facts about an interface; `nil` if they are not known.
    func knownFacts(aboutInterface index: UInt32, _ detail: QueryDetail) -> InterfaceFacts? {
        let first = readings.partitioningIndex { $0.facts.index >= index }
        return readings[first...].prefix { $0.facts.index == index }.first { $0.suffices(for: detail) }?.facts
    }

    /// Adds facts that came with answers.
    ///
    /// Several can be about the same interface.
    mutating func add(_ found: [InterfaceReading]) {
        guard !found.isEmpty else { return }
        readings = readings.isEmpty ? found : found + readings
        // The sort is stable, so the newest facts stay first.
        if readings.count > 1 { readings.sort { $0.facts.index < $1.facts.index } }
        for reading in found { note(reading.facts) }
    }

    /// Queries all missing facts.
    ///
    /// Returns whether there were any.
    mutating func ask(_ routing: any RoutingSource) -> Bool {
        guard !unknown.isEmpty else { return false }
        for (index, detail) in unknown where knownFacts(aboutInterface: index, detail) == nil {
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

    /// The missing facts, in words.
    var missing: [String] { Set(unknown.map(\.index)).sorted().map { "interface \($0)" } }

    /// Forgets which interfaces do not exist, and which queries failed.
    mutating func forgetAbsent() {
        (absent, failures) = ([], [])
    }
}
