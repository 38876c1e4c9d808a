// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// The driver of all evaluations: it divides items into batches.
extension NetworkFacts {
    /// Evaluates items in batches, in their order.
    ///
    /// - Parameters:
    ///   - items: The items, of any number.
    ///   - plan: Adds the targets of an item to a batch.
    ///   - take: Takes the result of an item from a batch that was run, with the targets that `plan` added.
    /// - Throws: What `take` throws.
    func evaluate<Item, Failure: Error>(
        _ items: some Collection<Item>,
        plan: (Item, inout EvaluationBatch) -> Void,
        take: (Item, inout EvaluationBatch, Range<Int>) throws(Failure) -> Void
    ) throws(Failure) {
        var rest = items[...]
        while !rest.isEmpty {
            var batch = EvaluationBatch(self)
            var planned: [(item: Item, targets: Range<Int>)] = []
            while batch.count < EvaluationBatch.limit, let item = rest.popFirst() {
                let first = batch.count
                plan(item, &batch)
                planned.append((item, first..<batch.count))
            }
            batch.run()
            for (item, targets) in planned { try take(item, &batch, targets) }
        }
    }

    /// Finds the flags of one target, in a batch of its own.
    ///
    /// - Parameters:
    ///   - target: The target.
    ///   - options: The socket.
    ///   - resolution: What is known of the name of the target; `nil` to resolve it.
    /// - Returns: The flags.
    /// - Throws: `ReachabilityError` if the query could not be answered.
    func flags(
        of target: ReachabilityTarget,
        _ options: ReachabilityOptions,
        _ resolution: ResolvedName? = nil
    ) throws(ReachabilityError) -> ReachabilityFlags {
        var batch = EvaluationBatch(self, resolution)
        batch.add(target, options, .flags)
        batch.run()
        return try batch.flags(0)
    }

    /// Makes the report on one target, in a batch of its own, as `flags` does.
    func report(
        on target: ReachabilityTarget,
        _ options: ReachabilityOptions,
        _ detail: ReachabilityReport.Detail,
        _ resolution: ResolvedName? = nil
    ) throws(ReachabilityError) -> ReachabilityReport {
        var batch = EvaluationBatch(self, resolution)
        batch.add(target, options, detail.evaluation)
        batch.run()
        return try batch.report(0, on: target, options)
    }
}
