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
            let planned = rest
            // Where the targets of each item end.
            var ends: [Int] = []
            while batch.count < EvaluationBatch.limit, let item = rest.popFirst() {
                plan(item, &batch)
                ends.append(batch.count)
            }
            batch.run()
            var first = 0
            for (item, end) in zip(planned, ends) {
                try take(item, &batch, first..<end)
                first = end
            }
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

// MARK: - Reports

extension EvaluationBatch {
    /// Makes the report on a target that was added.
    mutating func report(
        _ index: Int,
        on target: ReachabilityTarget,
        _ options: ReachabilityOptions
    ) throws(ReachabilityError) -> ReachabilityReport {
        let evaluation = try evaluation(index)
        let local = if case .pair(let own, _) = target.kind { own } else { options.localAddress }
        return ReachabilityReport(
            target, evaluation, try carriers(of: evaluation),
            connectResult: try connectResult(of: evaluation, from: local), name: { name(ofInterface: $0) })
    }

    /// The entries of the kernel's tables that the findings of a report have.
    func entries(_ index: Int) throws(ReachabilityError) -> [Route] {
        try evaluation(index).all.compactMap { $0.answer?.entry }
    }

    /// What carries the interface that decided.
    private mutating func carriers(of evaluation: Evaluation) throws(ReachabilityError) -> [TunnelCarrier] {
        guard evaluation.query?.wantsEntry == true, let packets = evaluation.packets,
            let index = evaluation.facts?.index
        else { return [] }
        return try carriers(ofInterface: index, packets)
    }

    /// Returns what connect(2) gives a socket that is bound to a local address or to none; `nil` when it is unknown,
    /// and below ``QueryDetail/full``.
    private func connectResult(
        of evaluation: Evaluation,
        from local: IPAddress?
    ) throws(ReachabilityError) -> ReachabilityReport.ConnectResult? {
        guard var query = evaluation.query, query.wantsEntry else { return nil }
        query.wantsEntry = false
        // The kernel's choice of a source is left to the socket.
        query.source = local?.withoutZone
        return try facts.routing.connect(query).map(ReachabilityReport.ConnectResult.init)
    }
}

extension ReachabilityReport {
    fileprivate init(
        _ target: ReachabilityTarget,
        _ evaluation: Evaluation,
        _ carriers: [TunnelCarrier],
        connectResult: ConnectResult?,
        name: (UInt32) -> String?
    ) {
        self.init(
            target: target,
            flags: evaluation.flags,
            reason: evaluation.reason,
            // The address that stands for the default path is not the caller's.
            address: evaluation.candidate.flatMap { $0.isDefaultPath ? nil : $0.destination },
            route: (evaluation.answer?.entry).map { NetworkRoute($0, name: name) },
            interface: evaluation.facts.map(NetworkInterface.init),
            gateway: evaluation.gateway,
            sourceAddress: evaluation.sourceAddress,
            connectResult: connectResult,
            findings: evaluation.all.map { Finding($0, name: name) },
            knownCarriers: carriers.isEmpty ? nil : carriers
        )
    }
}

extension ReachabilityReport.Detail {
    /// How much an evaluation finds out for the report.
    var evaluation: QueryDetail { self == .full ? .full : .reason }
}

extension ReachabilityReport.Finding {
    fileprivate init(_ evaluation: Evaluation, name: (UInt32) -> String?) {
        let rejection: RouteRejection? =
            if case .rejected(let given)? = evaluation.answer { given } else { nil }
        self.init(
            address: evaluation.candidate?.destination ?? .anyV4,
            flags: evaluation.flags,
            reason: evaluation.reason,
            kernelError: rejection?.rawValue,
            interface: evaluation.facts.map(NetworkInterface.init),
            interfaceState: (evaluation.facts?.link).map(NetworkInterface.State.init),
            route: (evaluation.answer?.entry).map { NetworkRoute($0, name: name) }
        )
    }
}
