// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The driver of all evaluations.
///
/// The driver queries all missing facts together, and then repeats the evaluations that have no value yet.
extension NetworkFacts {
    /// The most items in a batch.
    ///
    /// A larger batch would use more memory without saving time.
    ///
    /// The monitor reads notifications after each batch.
    static let batchLimit = 256
    /// How often evaluations begin again because the network has changed meanwhile.
    private static let changeLimit = 3
    /// How many rounds of queries an evaluation can need.
    ///
    /// A nested tunnel needs a few rounds for each level.
    private static let roundLimit = 256

    /// Evaluates items in batches.
    ///
    /// - Parameters:
    ///   - count: The number of items.
    ///   - isOutdated: Whether the network has changed since the last call. All known facts are dropped then, so
    ///     that no value combines answers from before and after a change. This is limited if the network changes
    ///     again and again.
    ///   - evaluate: Evaluates an item: a pure function of the known facts, which is called again after facts were
    ///     missing.
    ///   - take: Receives the value of an item and its dependencies; within a round, in the order of the items.
    /// - Throws: The error of `take`, which ends the evaluation of the other items.
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
    /// - Throws: `ReachabilityError` if there is no value.
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
    ///   - body: The evaluation of one item.
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
    /// The error for a fault in an evaluation: it needs no new fact and has no value, or it needs facts without end.
    fileprivate static func endlessEvaluation(_ missing: [String]) -> ReachabilityError {
        let words = missing.isEmpty ? "nothing" : missing.prefix(4).joined(separator: ", ")
        return ReachabilityError(
            .systemFailure,
            operation: "evaluate a query",
            message: "the evaluation does not end (missing: \(words)): please report it with a recording"
        )
    }
}
