// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// The answers to some queries after each event that can change them, and which event each answer followed.
///
/// The caller chooses the events from what the last evaluation of a query has read, and decides when earlier events
/// are settled. No query has a host name.
package struct AnswerTrace<Value: Sendable> {
    package typealias Answer = Result<Value, ReachabilityError>

    /// An event that changed an answer.
    package struct Step {
        /// The number that the caller gave the event.
        package let event: Int
        /// The answer before the event.
        package let before: Answer
        /// The answer after the event.
        package let answer: Answer
    }

    private struct Item {
        var query: any Query<Value>
        var answer: Answer?
        /// The events since the last settled one, in their order.
        var steps: [Step] = []
        var dependencies = RouteDependencies()
        var evaluations = 0

        func isSame(_ one: Answer, _ other: Answer) -> Bool {
            one.isSame(as: other) { query.areSame($0, $1) }
        }
    }

    /// The most events kept for an answer that is not settled.
    ///
    /// A further event replaces the last one.
    private static var stepLimit: Int { 256 }

    private var items: [Item]
    private var index = AddressIndex()

    /// Creates a trace of queries that are not evaluated yet.
    package init(_ queries: [NetworkQuery<Value>] = []) {
        items = queries.map { Item(query: $0.query) }
    }

    /// Adds a query, which is not evaluated yet, and returns its number.
    package mutating func add(_ query: NetworkQuery<Value>) -> Int {
        items.append(Item(query: query.query))
        return items.count - 1
    }

    /// Replaces the query with a number.
    ///
    /// The new query is not evaluated yet.
    package mutating func replace(_ number: Int, with query: NetworkQuery<Value>) {
        items[number] = Item(query: query.query)
    }

    /// The numbers of the queries that have been evaluated.
    package var evaluated: [Int] { items.indices.filter { items[$0].answer != nil } }

    /// The newest answer; `nil` before the first one.
    package func answer(to number: Int) -> Answer? { items[number].answer }

    /// Whether an answer is the newest one, or differs from it only in ways that do not count as a change.
    package func isNewest(_ answer: Answer, of number: Int) -> Bool {
        items[number].answer.map { items[number].isSame($0, answer) } ?? false
    }

    // MARK: What was read

    /// Counts the evaluations of a query.
    package func evaluations(of number: Int) -> Int { items[number].evaluations }

    /// The route queries that the newest answer was computed from.
    package func routeQueries(of number: Int) -> Set<RouteQuery> { items[number].dependencies.queries }

    /// The facts about the host that the newest answer was computed from.
    package func hostReading(of number: Int) -> HostReading { items[number].dependencies.host }

    /// The dependencies of the newest answer.
    func dependencies(of number: Int) -> RouteDependencies { items[number].dependencies }

    /// The queries whose newest answers depend on an address in a prefix.
    package mutating func numbers(in prefix: IPPrefix) -> [Int] {
        guard index.hasAny(in: prefix) else { return [] }
        var found: Set<Int> = []
        index.forEach(in: prefix) { found.insert(Int($0)) }
        return found.sorted()
    }

    // MARK: Events

    /// Evaluates queries.
    ///
    /// - Parameters:
    ///   - numbers: The queries.
    ///   - event: The number of the event that can have changed the answers; `nil` for no event.
    ///   - network: The network.
    ///   - now: The instant at which facts with an age are read; `nil` for the present.
    /// - Returns: Whether the event changed an answer.
    @discardableResult
    package mutating func evaluate(
        _ numbers: [Int],
        after event: Int? = nil,
        on network: any RoutingSource,
        at now: MonitorInstant? = nil
    ) -> Bool {
        let facts = NetworkFacts(
            routing: network,
            resolver: SystemResolver.shared,
            nameservers: { nil },
            addressPolicy: { .standard },
            clock: now.map { FixedClock(now: $0) }
        )
        var isChange = false
        // Recordings do not contain what names resolve to, so no resolver is asked.
        facts.evaluate(numbers.count) { (place, known) throws(Interruption) in
            known.resolution = .success(.notFound)
            known.remembered = items[numbers[place]].dependencies.memory
            return try items[numbers[place]].query.value(&known)
        } take: { place, answer, dependencies in
            if record(answer, dependencies(true), numbers[place], event) { isChange = true }
        }
        return isChange
    }

    private mutating func record(
        _ answer: Answer,
        _ dependencies: RouteDependencies,
        _ number: Int,
        _ event: Int?
    ) -> Bool {
        let (before, old) = (items[number].answer, items[number].dependencies.addresses)
        items[number].answer = answer
        items[number].dependencies = dependencies
        items[number].evaluations += 1
        index.update(UInt64(number), from: old, to: dependencies.addresses) { [items] number, address in
            items[Int(number)].dependencies.addresses.contains(address)
        }
        guard let event, let before, !items[number].isSame(answer, before) else { return false }
        if items[number].steps.count == Self.stepLimit { items[number].steps.removeLast() }
        items[number].steps.append(Step(event: event, before: before, answer: answer))
        return true
    }

    /// The last stored event that gave a query a given answer; `nil` if there is none.
    ///
    /// Of an answer that comes and goes within a burst, it is the event after which the answer stays.
    package func lastStep(of number: Int, to answer: Answer) -> Step? {
        items[number].steps.last { items[number].isSame($0.answer, answer) }
    }

    /// Removes the events of a query.
    package mutating func settle(_ number: Int) {
        items[number].steps = []
    }

    /// Removes the events of a query up to the last event after which it had a given answer; removes all if there is
    /// none.
    ///
    /// - Returns: That event, as ``lastStep(of:to:)``; `nil` for none.
    package mutating func settle(_ number: Int, upTo answer: Answer) -> Step? {
        let steps = items[number].steps
        let last = steps.lastIndex { items[number].isSame($0.answer, answer) }
        items[number].steps = last.map { Array(steps[($0 + 1)...]) } ?? []
        return last.map { steps[$0] }
    }

    /// Removes all events.
    package mutating func settle() {
        for number in items.indices where !items[number].steps.isEmpty { items[number].steps = [] }
    }

    /// Whether no event is stored.
    package var isSettled: Bool { items.allSatisfy(\.steps.isEmpty) }
}
