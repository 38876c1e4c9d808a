// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The driver of all evaluations.
///
/// It asks for all that is missing together, and then evaluates again what has no value yet.
extension NetworkFacts {
    /// The most items that share what is known: more would take memory, and gain no time.
    ///
    /// The monitor reads notifications again after as many observations.
    static let batchLimit = 256
    /// How often evaluations begin again because the network has changed meanwhile.
    private static let changeLimit = 3
    /// How often an evaluation can find something missing: a tunnel in a tunnel needs a few rounds for each.
    private static let roundLimit = 256

    /// Evaluates items in batches.
    ///
    /// - Parameters:
    ///   - count: The number of items.
    ///   - isOutdated: Whether the network has changed since this was last called. All that is known is dropped then,
    ///     so that no value mixes answers of before and of after a change, unless the network changes again and again.
    ///   - evaluate: Evaluates an item: a function of what is known alone, which is called again where something was
    ///     missing.
    ///   - take: Takes the value of an item, and what it depends on; within a round in the order of the items.
    /// - Throws: What `take` throws; the items that were not taken are left.
    func evaluate<Value, Failure: Error>(
        _ count: Int,
        isOutdated: () -> Bool = { false },
        _ evaluate: (Int, inout Known) throws(Interruption) -> Value,
        take: (Int, Result<Value, ReachabilityError>, (_ isDetailed: Bool) -> RouteDependencies)
            throws(Failure) -> Void
    ) throws(Failure) {
        var first = 0
        while first < count {
            let batch = first..<min(first + Self.batchLimit, count)
            first = batch.upperBound
            var known = Known()
            known.reserve(batch.count)
            var waiting: [(item: Int, reading: Known.Reading)] = batch.map { ($0, Known.Reading()) }
            var fault: ReachabilityError?
            var changes = 0
            while true {
                var left = 0
                for place in waiting.indices {
                    let item = waiting[place].item
                    known.begin(&waiting[place].reading)
                    let result = known.attempt { (known) throws(Interruption) in try evaluate(item, &known) }
                    swap(&known.reading, &waiting[place].reading)
                    if let result = result ?? fault.map(Result.failure) {
                        try take(item, result) { isDetailed in
                            known.dependencies(of: waiting[place].reading, isDetailed: isDetailed)
                        }
                    } else {
                        if left != place { waiting.swapAt(left, place) }
                        left += 1
                    }
                }
                guard left > 0 else { break }
                waiting.removeSubrange(left...)
                if known.round > Self.roundLimit { fault = .endlessEvaluation(known.missing) }
                if !known.ask(self) { fault = fault ?? .endlessEvaluation([]) }
                if changes < Self.changeLimit, isOutdated() {
                    changes += 1
                    known = Known()
                    for place in waiting.indices { waiting[place].reading = Known.Reading() }
                }
            }
        }
    }

    /// Evaluates one item.
    ///
    /// - Parameter body: The evaluation.
    /// - Returns: The value.
    /// - Throws: `ReachabilityError` if there is none.
    func evaluate<Value>(
        _ body: (inout Known) throws(Interruption) -> Value
    ) throws(ReachabilityError) -> Value {
        var value: Result<Value, ReachabilityError>?
        evaluate(1) { (_, known) throws(Interruption) in
            try body(&known)
        } take: { _, result, _ in
            value = result
        }
        guard let value else { throw .endlessEvaluation([]) }
        return try value.get()
    }

    /// Evaluates items.
    ///
    /// - Parameters:
    ///   - items: The items.
    ///   - body: The evaluation of one.
    /// - Returns: The values, in the order of the items.
    func values<Item, Value>(
        of items: [Item],
        _ body: (Item, inout Known) throws(Interruption) -> Value
    ) -> [Result<Value, ReachabilityError>] {
        var values = [Result<Value, ReachabilityError>?](repeating: nil, count: items.count)
        evaluate(items.count) { (index, known) throws(Interruption) in
            try body(items[index], &known)
        } take: { index, value, _ in
            values[index] = value
        }
        return values.compactMap(\.self)
    }
}

extension ReachabilityError {
    /// A fault of an evaluation: it misses nothing new, or without end.
    fileprivate static func endlessEvaluation(_ missing: [String]) -> ReachabilityError {
        let words = missing.isEmpty ? "nothing" : missing.prefix(4).joined(separator: ", ")
        return ReachabilityError(
            .systemFailure,
            operation: "evaluate a query",
            message: "the evaluation does not end (missing: \(words)): please report it with a recording"
        )
    }
}
