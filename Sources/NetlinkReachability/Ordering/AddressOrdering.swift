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
        let found = facts.values(of: addresses) { [options, policy] (address, known) throws(Interruption) in
            try Destination(address, options, policy, &known)
        }
        for result in found {
            let destination = try result.get()
            destinations.append(destination.facts)
            self.found.append(destination.ordered)
        }
        let order = DestinationFacts.order(destinations)
        let reachable = order.prefix { destinations[$0].isReachable }
        let tried = interleaved ? interleave(reachable) : Array(reachable)
        return list(tried + order.dropFirst(reachable.count), positions: order)
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

/// What is found out about one of the addresses.
private struct Destination {
    let facts: DestinationFacts
    let ordered: OrderedAddress

    init(
        _ address: IPAddress,
        _ options: ReachabilityOptions,
        _ policy: AddressPolicy,
        _ known: inout Known
    ) throws(Interruption) {
        // Nearly every address needs them.
        _ = known.host.addresses.find()
        let evaluation = try known.evaluation(of: .address(address), options, .source)
        var source = evaluation.sourceAddress
        if !evaluation.flags.isNetworkReachable {
            facts = DestinationFacts(address.unmapped, policy)
        } else if let source {
            facts = try Self.facts(address.unmapped, from: source, evaluation, policy, &known)
        } else {
            // The table of a recorded or simulated network has no choice of the kernel.
            let sources = try Self.candidates(for: evaluation, &known)
            facts = try Self.facts(address.unmapped, from: sources.first, evaluation, policy, &known)
            for other in sources.dropFirst()
            where try Self.facts(address.unmapped, from: other, evaluation, policy, &known) != facts {
                throw .failed(
                    ReachabilityError(
                        .undecided,
                        operation: "order addresses",
                        message:
                            "the kernel can select \(sources[0]) or \(other) as the source for \(address)"
                    ))
            }
            if sources.count == 1 { source = sources[0] }
        }
        ordered = OrderedAddress(address, from: source, evaluation)
    }

    private static func facts(
        _ address: IPAddress,
        from source: IPAddress?,
        _ evaluation: Evaluation,
        _ policy: AddressPolicy,
        _ known: inout Known
    ) throws(Interruption) -> DestinationFacts {
        let link = evaluation.facts?.link
        guard let source else { return DestinationFacts(address, from: nil, nil, through: link, policy) }
        // All of 127.0.0.0/8 is this host's.
        let own = source.family == .v4 && source.isLoopback ? .loopbackV4 : source.withoutZone
        let owners = try known.host.addresses.get().filter { $0.address.withoutZone == own }
        let owner = owners.first { $0.interfaceIndex == link?.index } ?? owners.first
        return DestinationFacts(address, from: source, owner, through: link, policy)
    }

    /// The source addresses that the kernel can select for the packets of an evaluation.
    private static func candidates(
        for evaluation: Evaluation,
        _ known: inout Known
    ) throws(Interruption) -> [IPAddress] {
        guard let query = evaluation.query, let answer = evaluation.answer else { return [] }
        return try known.host.sources.get(KnownHost.SourceQuery(packet: query, answer: answer))
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
