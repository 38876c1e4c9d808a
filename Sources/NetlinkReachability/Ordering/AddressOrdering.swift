// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Orders addresses: one batch of lookups, and the rules of RFC 6724 on the answers.
struct AddressOrdering: ~Copyable {
    private let facts: NetworkFacts
    private let options: ReachabilityOptions
    private let policy: AddressPolicy
    private var found: [OrderedAddress] = []
    private var destinations: [DestinationFacts] = []

    init(_ facts: NetworkFacts, _ options: ReachabilityOptions, _ policy: AddressPolicy?) {
        self.facts = facts
        self.options = options
        self.policy = policy ?? facts.addressPolicy()
    }

    /// Orders addresses; those of other families than the options have are left out.
    mutating func order(
        _ addresses: [IPAddress],
        interleaved: Bool
    ) throws(ReachabilityError) -> [OrderedAddress] {
        let addresses = addresses.filter { options.admits($0.unmapped.family) }
        destinations.reserveCapacity(addresses.count)
        found.reserveCapacity(addresses.count)
        try facts.evaluate(addresses) { address, batch in
            batch.add(.address(address), options, .source)
        } take: { (address, batch, targets) throws(ReachabilityError) in
            let evaluation = try batch.evaluation(targets.lowerBound)
            let destination = try destination(address.unmapped, evaluation, &batch)
            destinations.append(destination.facts)
            found.append(OrderedAddress(address, from: destination.source, evaluation))
        }
        let order = DestinationFacts.order(destinations)
        let reachable = order.prefix { destinations[$0].isReachable }
        let tried = interleaved ? interleave(reachable) : Array(reachable)
        return list(tried + order.dropFirst(reachable.count), positions: order)
    }

    /// The facts about an address, and its source address; `nil` if it is unknown.
    private func destination(
        _ address: IPAddress,
        _ evaluation: Evaluation,
        _ batch: inout EvaluationBatch
    ) throws(ReachabilityError) -> (facts: DestinationFacts, source: IPAddress?) {
        let source = evaluation.sourceAddress
        guard evaluation.flags.isNetworkReachable else { return (DestinationFacts(address, policy), source) }
        let link = evaluation.facts?.link
        if let source { return (try facts(address, source, link, &batch), source) }
        // The table of a recorded or simulated network has no choice of the kernel.
        let sources = try candidates(for: evaluation)
        guard let first = sources.first else {
            return (DestinationFacts(address, from: nil, nil, through: link, policy), nil)
        }
        let known = try facts(address, first, link, &batch)
        for source in sources.dropFirst() where try facts(address, source, link, &batch) != known {
            throw ReachabilityError(
                .undecided,
                operation: "order addresses",
                message: "the kernel can select \(first) or \(source) as the source for \(address)"
            )
        }
        return (known, sources.count == 1 ? first : nil)
    }

    private func facts(
        _ address: IPAddress,
        _ source: IPAddress,
        _ link: Link?,
        _ batch: inout EvaluationBatch
    ) throws(ReachabilityError) -> DestinationFacts {
        // All of 127.0.0.0/8 is this host's.
        let own = source.family == .v4 && source.isLoopback ? .loopbackV4 : source.withoutZone
        let owners = try batch.host.addresses().filter { $0.address.withoutZone == own }
        let owner = owners.first { $0.interfaceIndex == link?.index } ?? owners.first
        return DestinationFacts(address, from: source, owner, through: link, policy)
    }

    /// The source addresses that the kernel can select for the packets of an evaluation.
    private func candidates(for evaluation: Evaluation) throws(ReachabilityError) -> [IPAddress] {
        guard let query = evaluation.query, let answer = evaluation.answer else { return [] }
        return try facts.routing.sourceAddresses(for: query, after: answer)
    }

    /// The addresses so that the families alternate, beginning with that of the first.
    private func interleave(_ order: ArraySlice<Int>) -> [Int] {
        guard let first = order.first.map({ destinations[$0].family }) else { return [] }
        let preferred = order.filter { destinations[$0].family == first }
        let others = order.filter { destinations[$0].family != first }
        let count = min(preferred.count, others.count)
        return zip(preferred, others).flatMap { [$0, $1] } + preferred.dropFirst(count)
            + others.dropFirst(count)
    }

    /// The addresses with their ranks, and what put each behind the one before.
    ///
    /// - Parameters:
    ///   - order: The indices of the addresses, in order.
    ///   - sorted: The indices in the order of RFC 6724.
    /// - Returns: The addresses.
    private func list(_ order: [Int], positions sorted: [Int]) -> [OrderedAddress] {
        var positions = sorted
        for (position, index) in sorted.enumerated() { positions[index] = position }
        var list = order.map { found[$0] }
        for position in list.indices {
            let index = order[position]
            if destinations[index].isReachable { list[position].rank = position + 1 }
            guard position > 0 else { continue }
            let previous = order[position - 1]
            // Rule 9 can exchange addresses of one family across one of the other, against the given order.
            let other: OrderedAddress.Rule = previous < index ? .givenOrder : .longestPrefix
            list[position].rule =
                positions[previous] > positions[index]
                ? .interleaved
                : destinations[previous].decision(against: destinations[index])?.rule ?? other
        }
        return list
    }
}

extension OrderedAddress {
    fileprivate init(_ address: IPAddress, from source: IPAddress?, _ evaluation: Evaluation) {
        self.address = address
        sourceAddress = source
        interface = evaluation.facts.map(NetworkInterface.init)
        gateway = evaluation.gateway
        flags = evaluation.flags
        reason = evaluation.reason
    }
}
