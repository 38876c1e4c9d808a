// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Why an evaluation stops before it has a value.
enum Interruption: Error {
    /// Something is not known yet: ``Known`` has noted what to ask for.
    case missing
    /// There is no value.
    case failed(ReachabilityError)
}

/// What is known of the host and of the routes of packets: the only memory of a batch of evaluations.
///
/// An evaluation is a function of it, and asks nothing. Where something is not known, that is noted here, and the
/// function throws ``Interruption/missing``. The driver then asks for all that is missing, and calls the function again
/// (``NetworkFacts/evaluate(_:isOutdated:_:take:)``). Failures are remembered like values.
///
/// Facts about the host are shared by the batch. Routes belong to the item that is evaluated: what it has read is what
/// its value depends on.
struct Known {
    /// See ``host``.
    private var knownHost: KnownHost?
    /// The interfaces.
    var interfaces = KnownInterfaces()
    /// The packets that tunnels send around others, which many items share.
    var carriers: [CarrierKey: KnownCarrier] = [:]
    /// The tunnels whose outer packets are being evaluated, the innermost first.
    var entered: [CarrierKey] = []
    /// What the item that is evaluated has read.
    var reading = Reading()
    /// What is known of the name of the item; `nil` to resolve it.
    var resolution: ResolvedName?
    /// What an observation of evidence remembers; `nil` for a query that is asked once.
    var remembered: Box<EvidenceMemory>?
    /// The sockets that were closed lately.
    var closed: [EvidenceMemory.Closed] = []
    /// Counts how often all that was missing was asked for.
    private(set) var round = 0
    /// Whether an item began again since the last round.
    private var isBeginningAgain = false
    /// The queries of all items.
    private var lookups: [RouteLookup] = []
    /// The number of queries that have an answer.
    private var answered = 0

    /// What an item has read.
    struct Reading {
        /// Where its queries are among those of all items.
        ///
        /// Nearly all items have a single round of queries.
        fileprivate var first = 0..<0
        fileprivate var later: [Range<Int>] = []
        /// The query that comes after the last one that was read: an evaluation that is repeated reads in one order.
        fileprivate var next = 0
        /// The places of queries of an item that has many, as a path through hundreds of interfaces.
        fileprivate var places: [RouteQuery: Int] = [:]
        /// Whether the item began again after all interfaces of an answer were gone.
        fileprivate(set) var isRepeated = false
        /// The shortest lifetime of a route that was read, in 1/100 s.
        fileprivate(set) var lifetime: Int32?
        /// Addresses that the value depends on besides the destinations of the queries.
        fileprivate(set) var addresses = SmallSet<IPAddress>()
        /// The tunnels whose outer packets were read.
        fileprivate(set) var carriers: [CarrierKey] = []
        /// Which facts about the host were read.
        var host: HostReading = []
        /// What an observation of evidence is to remember.
        fileprivate(set) var memory: Box<EvidenceMemory>?
    }
}

extension Known {
    /// The facts about the host besides interfaces and routes.
    ///
    /// Few batches need any.
    var host: KnownHost {
        mutating get {
            reading.host.insert(.tables)
            return unnotified
        }
    }

    /// The facts about the host, to find an interface by its name.
    var hostByName: KnownHost {
        mutating get {
            reading.host.insert(.names)
            return unnotified
        }
    }

    /// The facts about the host, to read what no notification is about: sockets, names and name servers.
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
    /// Runs a part of an evaluation whose end the next part does not have to wait for.
    ///
    /// - Returns: What the part gives; `nil` if something is missing: the caller throws ``Interruption/missing`` after
    ///   it has noted all that is missing.
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

    /// Runs a part of an evaluation for each element, so that all that is missing is asked for together.
    ///
    /// - Throws: ``Interruption/missing`` alone.
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

    /// Runs a part of an evaluation for each element, as ``all(_:_:)`` does; the first failure is thrown.
    mutating func values<Element, Value>(
        of elements: [Element],
        _ body: (Element, inout Known) throws(Interruption) -> Value
    ) throws(Interruption) -> [Value] {
        var values: [Value] = []
        for result in try all(elements, body) { values.append(try value(of: result)) }
        return values
    }

    /// Forgets the routes of the item, which begins again.
    ///
    /// All interfaces of an answer are gone, and the route with them. It does so once.
    ///
    /// - Returns: Whether it has not yet done so.
    mutating func beginsAgain() -> Bool {
        guard !reading.isRepeated else { return false }
        reading = Reading()
        reading.isRepeated = true
        isBeginningAgain = true
        return true
    }

    /// Begins the evaluation of an item that has read something in earlier rounds.
    mutating func begin(_ reading: inout Reading) {
        swap(&self.reading, &reading)
        if resolution != nil { resolution = nil }
        if remembered != nil { remembered = nil }
        resume()
    }

    /// Reads again from the beginning.
    mutating func resume() {
        reading.next = reading.first.lowerBound
        reading.lifetime = nil
        if !reading.carriers.isEmpty { reading.carriers = [] }
        if reading.memory != nil { reading.memory = nil }
    }
}

// MARK: - Routes

extension Known {
    /// The answers about a packet: the entry of the tables, and the packet's own route.
    typealias PacketAnswers = (entry: RoutingResult, packet: RoutingResult)

    /// The answers about a packet; `nil` if they are missing.
    ///
    /// Both are asked for in one datagram.
    mutating func findAnswers(entry: RouteQuery, packet: RouteQuery) -> PacketAnswers? {
        guard let place = find(entry, and: packet) else { return nil }
        return (lookups[place].result, lookups[place + 1].result)
    }

    /// The answer to one query; `nil` if it is missing.
    mutating func findAnswer(to query: RouteQuery) -> RoutingResult? {
        find(query, and: nil).map { lookups[$0].result }
    }

    /// Whether a `local` route takes a packet.
    mutating func isDelivered(_ query: RouteQuery) throws(Interruption) -> Bool {
        guard let result = findAnswer(to: query) else { throw .missing }
        return try value(of: result).type == .local
    }

    /// The place of a query of the item that has an answer; else the query is noted.
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

    /// Notes how long a route lives that the value depends on.
    mutating func note(lifetime: Int32?) {
        reading.lifetime.shorten(to: lifetime)
    }

    /// Notes an address that the value depends on.
    mutating func note(address: IPAddress) {
        reading.addresses.insert(address)
    }

    /// Notes what the next evaluation of the item reads in ``remembered``, if it is observed.
    mutating func remember(_ memory: EvidenceMemory) {
        reading.memory = Box(memory)
    }

    /// Notes that the value depends on the outer packets of a tunnel.
    mutating func note(carrier: CarrierKey) {
        if !reading.carriers.contains(carrier) { reading.carriers.append(carrier) }
    }

    /// What the value of an item depends on that has read something.
    ///
    /// - Parameters:
    ///   - reading: What it has read.
    ///   - isDetailed: Whether to list the queries, too.
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
        // Few hosts have tunnels.
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
    /// Adds queries at the end of those of all items.
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

    /// Notes the places of the queries once there are many.
    fileprivate mutating func index(_ lookups: [RouteLookup]) {
        let count = first.count + later.reduce(0) { $0 + $1.count }
        guard count > 128 else { return }
        if places.isEmpty {
            for range in [first] + later { for place in range { places[lookups[place].query] = place } }
        } else {
            for place in lookups.indices.suffix(2) { places[lookups[place].query] = place }
        }
    }

    /// The place of a query; `nil` if it was not noted before.
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
            // A query alone and one of a pair can be the same: the place is that of one of them.
            guard let place = places[query] else { return nil }
            if isAt(place) { return place }
        }
        return first.first(where: isAt) ?? later.lazy.compactMap { $0.first(where: isAt) }.first
    }
}

// MARK: - Asking

extension Known {
    /// Asks for all that is missing, as much as possible at once.
    ///
    /// - Returns: Whether anything was missing.
    mutating func ask(_ facts: NetworkFacts) -> Bool {
        round += 1
        var isAsked = isBeginningAgain
        // Not before: the other items of this round find their interfaces gone, too.
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

    /// What is missing, in words.
    var missing: [String] {
        let routes = lookups[answered...].filter { !$0.query.selectsNexthop }.map { lookup in
            "route to \(lookup.query.destination)" + (lookup.query.source.map { " from \($0)" } ?? "")
        }
        let again = isBeginningAgain ? ["all that was read"] : []
        return again + (knownHost?.missing ?? []) + interfaces.missing + routes
    }

    /// Makes room for the queries of some items: the entry and the packet, as most ask for no more.
    mutating func reserve(_ count: Int) {
        lookups.reserveCapacity(2 * count)
    }
}
