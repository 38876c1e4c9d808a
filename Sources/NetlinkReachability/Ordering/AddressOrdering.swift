// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// Orders addresses: one round of questions, and the rules of RFC 6724 on the answers.
struct AddressOrdering {
    private let facts: NetworkFacts
    private let options: ReachabilityOptions
    private let policy: AddressPolicy
    private var found: [OrderedAddress] = []
    private var destinations: [DestinationFacts] = []
    /// The addresses of this host, listed once.
    private var ownAddresses: [InterfaceAddress]?

    init(_ facts: NetworkFacts, _ options: ReachabilityOptions, _ policy: AddressPolicy?) {
        self.facts = facts
        self.options = options
        self.policy = policy ?? facts.addressPolicy()
    }

    /// Orders addresses; those of other families than the options have are left out.
    mutating func order(
        _ addresses: some Collection<IPAddress>,
        interleaved: Bool
    ) throws(ReachabilityError) -> [OrderedAddress] {
        var rest = addresses.filter { options.admits($0.unmapped.family) }[...]
        while !rest.isEmpty {
            try ask(rest.prefix(EvaluationRound.limit))
            rest = rest.dropFirst(EvaluationRound.limit)
        }
        let order = DestinationFacts.order(destinations)
        let reachable = order.prefix { destinations[$0].isReachable }
        let tried = interleaved ? interleave(reachable) : Array(reachable)
        return list(tried + order.dropFirst(reachable.count), places: order)
    }

    private mutating func ask(_ addresses: some Collection<IPAddress>) throws(ReachabilityError) {
        var round = EvaluationRound(facts)
        for address in addresses { round.add(.address(address), options, .source) }
        round.ask()
        for (index, address) in addresses.enumerated() {
            let evaluation = try round.evaluation(index)
            found.append(OrderedAddress(address, evaluation))
            destinations.append(try destination(address.unmapped, evaluation))
        }
    }

    private mutating func destination(
        _ address: IPAddress,
        _ evaluation: Evaluation
    ) throws(ReachabilityError) -> DestinationFacts {
        guard evaluation.flags.isNetworkReachable else { return DestinationFacts(address, policy) }
        let link = evaluation.facts?.link
        let own = try evaluation.sourceAddress.flatMap { (source) throws(ReachabilityError) in
            try ownAddress(source, of: link)
        }
        return DestinationFacts(address, from: evaluation.sourceAddress, own, through: link, policy)
    }

    /// The address of an interface, if it can be of the outgoing one.
    private mutating func ownAddress(
        _ source: IPAddress,
        of link: Link?
    ) throws(ReachabilityError) -> InterfaceAddress? {
        if ownAddresses == nil {
            do {
                ownAddresses = try facts.routing.addresses()
            } catch {
                throw ReachabilityError(error)
            }
        }
        // All of 127.0.0.0/8 is this host's.
        let address = source.family == .v4 && source.isLoopback ? .loopbackV4 : source.withoutZone
        let owners = ownAddresses?.lazy.filter { $0.address.withoutZone == address }
        return owners?.first { $0.interfaceIndex == link?.index } ?? owners?.first
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
    private func list(_ order: [Int], places sorted: [Int]) -> [OrderedAddress] {
        var places = sorted
        for (place, index) in sorted.enumerated() { places[index] = place }
        var list = order.map { found[$0] }
        for position in list.indices {
            let index = order[position]
            if destinations[index].isReachable { list[position].rank = position + 1 }
            guard position > 0 else { continue }
            let previous = order[position - 1]
            list[position].rule =
                places[previous] > places[index]
                ? .interleaved
                : destinations[previous].decision(against: destinations[index])?.rule ?? .givenOrder
        }
        return list
    }
}

extension OrderedAddress {
    fileprivate init(_ address: IPAddress, _ evaluation: Evaluation) {
        self.address = address
        sourceAddress = evaluation.sourceAddress
        interface = evaluation.facts.map(NetworkInterface.init)
        gateway = evaluation.gateway
        flags = evaluation.flags
        reason = evaluation.reason
    }
}
