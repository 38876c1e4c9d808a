// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Why an evaluation stops before it has a value.
enum Interruption: Error {
    /// A fact is not known yet. ``Known`` has recorded the request for it.
    case missing
    /// The evaluation has an error instead of a value.
    case failed(ReachabilityError)

    /// What the source lacks decides the answer.
    static func undecided(_ operation: String, _ message: String) -> Interruption {
        .failed(.undecided(operation, message))
    }
}

/// The known facts about the host and about the routes of packets: the only state of a batch of evaluations.
///
/// An evaluation is a pure function of this state and sends no queries. If a fact is not known, the evaluation
/// records it here and throws ``Interruption/missing``. The driver then queries all missing facts and calls the
/// evaluation again (``NetworkFacts/evaluate(_:isOutdated:_:take:)``). Failures are stored like values.
///
/// The items of a batch share the facts about the host. Each item has its own record of the routes and facts that it
/// has read: its value depends on these.
struct Known {
    /// See ``host``.
    private var knownHost: KnownHost?
    /// The facts about interfaces.
    var interfaces = KnownInterfaces()
    /// The outer packets of tunnels, shared by the items.
    var carriers: [CarrierKey: KnownCarrier] = [:]
    /// The tunnels whose outer packets are being evaluated, in the order in which packets enter them.
    var entered: [CarrierKey] = []
    /// The facts that the current item has read.
    var reading = Reading()
    /// The resolution of the current item's name; `nil` to resolve the name.
    var resolution: ResolvedName?
    /// The stored evidence of an observation; `nil` for a query that is asked once.
    var remembered: Box<EvidenceMemory>?
    /// The sockets that were closed lately.
    var closed: [EvidenceMemory.Closed] = []
    /// The number of request rounds: how often all missing facts were queried.
    private(set) var round = 0
    /// Whether an item has begun again since the last round.
    private var isBeginningAgain = false
    /// The queries of all items.
    private var lookups: [RouteLookup] = []
    /// The number of queries that have an answer.
    private var answered = 0

    /// The facts that an item has read.
    struct Reading {
        /// The indices of its queries among the queries of all items.
        ///
        /// Nearly all items need only one round of queries.
        fileprivate var first = 0..<0
        fileprivate var later: [Range<Int>] = []
        /// The index after the last query that was read: a repeated evaluation reads the queries in the same order.
        fileprivate var next = 0
        /// The indices of the queries of an item with many queries, such as a path through hundreds of interfaces.
        fileprivate var places: [RouteQuery: Int] = [:]
        /// Whether the item began again after all interfaces of an answer had been removed.
        fileprivate(set) var isRepeated = false
        /// The shortest lifetime of the routes that were read, in 1/100 s.
        fileprivate(set) var lifetime: Int32?
        /// Addresses that the value depends on besides the destinations of the queries.
        fileprivate(set) var addresses = SmallSet<IPAddress>()
        /// The tunnels whose outer packets were read.
        fileprivate(set) var carriers: [CarrierKey] = []
        /// The facts about the host that were read.
        var host: HostReading = []
        /// The evidence to store for the next evaluation of an observation.
        fileprivate(set) var memory: Box<EvidenceMemory>?
    }
}

extension Known {
    /// The facts about the host besides interfaces and routes.
    ///
    /// Few batches need them.
    var host: KnownHost {
        mutating get {
            reading.host.insert(.tables)
            return unnotified
        }
    }

    /// The facts about the host, for finding an interface by name.
    var hostByName: KnownHost {
        mutating get {
            reading.host.insert(.names)
            return unnotified
        }
    }

    /// The facts that the kernel does not notify of: sockets, resolutions and name servers.
    var unnotified: KnownHost {
        mutating get {
            if let knownHost { return knownHost }
            let host = KnownHost()
            knownHost = host
            return host
        }
    }
}

// MARK: - Stopping

extension Known {
    /// Runs one part of an evaluation.
    ///
    /// If a fact is missing, the next part can still run and record its own missing facts.
    ///
    /// - Returns: The result of the part; `nil` if a fact is missing. The caller throws ``Interruption/missing``
    ///   after all parts have run.
    mutating func attempt<Value>(
        _ body: (inout Known) throws(Interruption) -> Value
    ) -> Result<Value, ReachabilityError>? {
        do throws(Interruption) {
            return .success(try body(&self))
        } catch {
            switch error {
            case .missing: return nil
            case .failed(let error): return .failure(error)
            }
        }
    }

    /// Runs a part of an evaluation for each element, so that all missing facts are queried together.
    ///
    /// - Throws: Only ``Interruption/missing``.
    mutating func all<Element, Value>(
        _ elements: [Element],
        _ body: (Element, inout Known) throws(Interruption) -> Value
    ) throws(Interruption) -> [Result<Value, ReachabilityError>] {
        var results: [Result<Value, ReachabilityError>] = []
        results.reserveCapacity(elements.count)
        for element in elements {
            let result = attempt { (known) throws(Interruption) in try body(element, &known) }
            if let result { results.append(result) }
        }
        guard results.count == elements.count else { throw .missing }
        return results
    }

    /// Runs a part of an evaluation for each element, as ``all(_:_:)`` does.
    ///
    /// Throws the first failure.
    mutating func values<Element, Value>(
        of elements: [Element],
        _ body: (Element, inout Known) throws(Interruption) -> Value
    ) throws(Interruption) -> [Value] {
        var values: [Value] = []
        for result in try all(elements, body) { values.append(try value(of: result)) }
        return values
    }

    /// Discards the routes that the item has read, so that it begins again.
    ///
    /// Used when all interfaces of an answer were removed, and the route with them. An item begins again at most
    /// once.
    ///
    /// - Returns: Whether the item begins again.
    mutating func beginsAgain() -> Bool {
        guard !reading.isRepeated else { return false }
        reading = Reading()
        reading.isRepeated = true
        isBeginningAgain = true
        return true
    }

    /// Begins the evaluation of an item with its record of earlier rounds.
    mutating func begin(_ reading: inout Reading) {
        swap(&self.reading, &reading)
        if resolution != nil { resolution = nil }
        if remembered != nil { remembered = nil }
        resume()
    }

    /// Starts to read the record again from the beginning.
    mutating func resume() {
        reading.next = reading.first.lowerBound
        reading.lifetime = nil
        if !reading.carriers.isEmpty { reading.carriers = [] }
        if reading.memory != nil { reading.memory = nil }
    }
}

// MARK: - Routes

extension Known {
    /// The answers about a packet: the routing table entry, and the packet's own route.
    typealias PacketAnswers = (entry: RoutingResult, packet: RoutingResult)

    /// The answers about a packet; `nil` if they are not known yet.
    ///
    /// Both queries go to the kernel in one datagram.
    mutating func findAnswers(entry: RouteQuery, packet: RouteQuery) -> PacketAnswers? {
        guard let place = find(entry, and: packet) else { return nil }
        return (lookups[place].result, lookups[place + 1].result)
    }

    /// The answer to one query; `nil` if it is not known yet.
    mutating func findAnswer(to query: RouteQuery) -> RoutingResult? {
        find(query, and: nil).map { lookups[$0].result }
    }

    /// Whether a packet matches a `local` route.
    mutating func isDelivered(_ query: RouteQuery) throws(Interruption) -> Bool {
        guard let result = findAnswer(to: query) else { throw .missing }
        return try value(of: result).type == .local
    }

    /// The index of an item's query that has an answer.
    ///
    /// Otherwise, records the query.
    private mutating func find(_ query: RouteQuery, and second: RouteQuery?) -> Int? {
        let width = second == nil ? 1 : 2
        guard let place = reading.place(in: lookups, of: query, and: second) else {
            reading.add(lookups.count, width)
            lookups.append(RouteLookup(query))
            if let second { lookups.append(RouteLookup(second)) }
            reading.index(lookups)
            return nil
        }
        reading.next = place + width
        guard place < answered else { return nil }
        return place
    }

    /// Records the lifetime of a route that the value depends on.
    mutating func note(lifetime: Int32?) {
        reading.lifetime.shorten(to: lifetime)
    }

    /// Records an address that the value depends on.
    mutating func note(address: IPAddress) {
        reading.addresses.insert(address)
    }

    /// Records the evidence that the next evaluation of the item reads in ``remembered``, if the item is observed.
    mutating func remember(_ memory: EvidenceMemory) {
        reading.memory = Box(memory)
    }

    /// Records that the value depends on the outer packets of a tunnel.
    mutating func note(carrier: CarrierKey) {
        if !reading.carriers.contains(carrier) { reading.carriers.append(carrier) }
    }

    /// The dependencies of an item's value.
    ///
    /// - Parameters:
    ///   - reading: The facts that the item has read.
    ///   - isDetailed: Whether to include the queries and the facts about the host.
    /// - Returns: The dependencies.
    func dependencies(of reading: Reading, isDetailed: Bool = false) -> RouteDependencies {
        var dependencies = RouteDependencies()
        dependencies.memory = reading.memory
        var next: [CarrierKey] = []
        func add(_ reading: Reading, to dependencies: inout RouteDependencies, _ next: inout [CarrierKey]) {
            dependencies.lifetime.shorten(to: reading.lifetime)
            reading.addresses.each { dependencies.addresses.insert($0) }
            for place in reading.first { dependencies.addresses.insert(lookups[place].query.destination) }
            for place in reading.later.joined() {
                dependencies.addresses.insert(lookups[place].query.destination)
            }
            if isDetailed {
                dependencies.host.formUnion(reading.host)
                for range in [reading.first] + reading.later {
                    for place in range { dependencies.queries.insert(lookups[place].query.ofEntry) }
                }
            }
            if !reading.carriers.isEmpty { next += reading.carriers }
        }
        add(reading, to: &dependencies, &next)
        // Few hosts have tunnels, so this loop rarely runs.
        var seen: Set<CarrierKey> = []
        while let key = next.popLast() {
            guard seen.insert(key).inserted, let carrier = carriers[key] else { continue }
            add(carrier.reading, to: &dependencies, &next)
        }
        return dependencies
    }

    /// The value of a result.
    func value<Value>(of result: Result<Value, ReachabilityError>) throws(Interruption) -> Value {
        switch result {
        case .success(let value): return value
        case .failure(let error): throw .failed(error)
        }
    }
}

extension Known.Reading {
    /// Adds queries that were appended to the queries of all items.
    fileprivate mutating func add(_ place: Int, _ width: Int) {
        if first.isEmpty {
            first = place..<place + width
        } else if later.isEmpty, first.upperBound == place {
            first = first.lowerBound..<place + width
        } else if let last = later.last, last.upperBound == place {
            later[later.count - 1] = last.lowerBound..<place + width
        } else {
            later.append(place..<place + width)
        }
    }

    /// Builds the table of indices once the item has many queries.
    fileprivate mutating func index(_ lookups: [RouteLookup]) {
        let count = first.count + later.reduce(0) { $0 + $1.count }
        guard count > 128 else { return }
        if places.isEmpty {
            for range in [first] + later { for place in range { places[lookups[place].query] = place } }
        } else {
            for place in lookups.indices.suffix(2) { places[lookups[place].query] = place }
        }
    }

    /// The index of a query; `nil` if the item has not read it before.
    fileprivate func place(
        in lookups: [RouteLookup],
        of query: RouteQuery,
        and second: RouteQuery?
    ) -> Int? {
        func isAt(_ place: Int) -> Bool {
            guard lookups[place].query == query else { return false }
            guard let second else { return true }
            return place + 1 < lookups.count && lookups[place + 1].query == second
        }
        if first.contains(next) || later.contains(where: { $0.contains(next) }), isAt(next) { return next }
        if !places.isEmpty {
            // The same query can occur alone and in a pair. The table has the index of one of them.
            guard let place = places[query] else { return nil }
            if isAt(place) { return place }
        }
        return first.first(where: isAt) ?? later.lazy.compactMap { $0.first(where: isAt) }.first
    }
}

// MARK: - Queries

extension Known {
    /// Queries all missing facts, as many as possible at once.
    ///
    /// - Returns: Whether a fact was missing.
    mutating func ask(_ facts: NetworkFacts) -> Bool {
        round += 1
        var isAsked = isBeginningAgain
        // Done only now, so that the other items of this round also see their interfaces as removed.
        if isBeginningAgain { interfaces.forgetAbsent() }
        isBeginningAgain = false
        if knownHost?.ask(facts) == true { isAsked = true }
        if interfaces.ask(facts.routing) { isAsked = true }
        guard lookups.count > answered else { return isAsked }
        do {
            interfaces.add(try facts.routing.answer(&lookups, from: answered))
        } catch {
            for place in answered..<lookups.count { lookups[place].result = .failure(error) }
        }
        answered = lookups.count
        return true
    }

    /// The missing facts, in words.
    var missing: [String] {
        let routes = lookups[answered...].filter { !$0.query.selectsNexthop }.map { lookup in
            "route to \(lookup.query.destination)" + (lookup.query.source.map { " from \($0)" } ?? "")
        }
        let again = isBeginningAgain ? ["all that was read"] : []
        return again + (knownHost?.missing ?? []) + interfaces.missing + routes
    }

    /// Reserves memory for the queries of some items: the entry and the packet, because most items need no more.
    mutating func reserve(_ count: Int) {
        lookups.reserveCapacity(2 * count)
    }
}
