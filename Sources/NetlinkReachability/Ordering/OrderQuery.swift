// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The query for the order of addresses: looks each address up, then applies the rules of RFC 6724.
final class OrderQuery: Query {
    /// The addresses; empty if a name has to be resolved.
    private let addresses: [IPAddress]
    /// The name whose addresses are ordered; `nil` if the addresses are given.
    let namedTarget: FlagsQuery?
    private let options: ReachabilityOptions
    private let isInterleaved: Bool
    /// `nil` for the policy of the host.
    private let policy: AddressPolicy?

    init(
        _ addresses: [IPAddress],
        of namedTarget: FlagsQuery? = nil,
        _ options: ReachabilityOptions,
        isInterleaved: Bool,
        _ policy: AddressPolicy?
    ) {
        (self.addresses, self.namedTarget, self.options) = (addresses, namedTarget, options)
        (self.isInterleaved, self.policy) = (isInterleaved, policy)
    }

    var description: String {
        "order of \(namedTarget.map { "\($0.target)" } ?? addresses.listed)"
    }

    func words(_ list: [OrderedAddress]) -> String { list.map(\.address).listed }

    /// Orders the addresses.
    ///
    /// Addresses of families that the options exclude are omitted.
    func value(_ known: inout Known) throws(Interruption) -> [OrderedAddress] {
        var addresses = addresses
        if let name = namedTarget?.name { addresses = try known.resolution(of: name).destinations }
        // Requested first, because nearly every address needs both facts.
        if policy == nil { _ = known.unnotified.addressPolicy.find() }
        _ = known.host.addresses.find()
        let found = try known.values(of: addresses.filter { options.admits($0.unmapped.family) }) {
            (address, known) throws(Interruption) in try Destination(address, options, policy, &known)
        }
        let order = DestinationFacts.order(found.map(\.facts))
        let reachable = order.prefix { found[$0].facts.isReachable }
        let tried = isInterleaved ? interleave(reachable, found) : Array(reachable)
        return list(tried + order.dropFirst(reachable.count), positions: order, found)
    }

    /// Makes the families alternate, beginning with the family of the first address.
    private func interleave(_ order: ArraySlice<Int>, _ found: [Destination]) -> [Int] {
        guard let first = order.first.map({ found[$0].facts.family }) else { return [] }
        let preferred = order.filter { found[$0].facts.family == first }
        let others = order.filter { found[$0].facts.family != first }
        let count = min(preferred.count, others.count)
        return zip(preferred, others).flatMap { [$0, $1] } + preferred.dropFirst(count)
            + others.dropFirst(count)
    }

    /// Lists the addresses with their ranks, and with the rule that puts each behind the one before.
    ///
    /// - Parameters:
    ///   - order: The indices of the addresses, in order.
    ///   - sorted: The indices in the order of RFC 6724.
    ///   - found: The facts about the addresses.
    /// - Returns: The addresses.
    private func list(
        _ order: [Int],
        positions sorted: [Int],
        _ found: [Destination]
    ) -> [OrderedAddress] {
        var positions = sorted
        for (position, index) in sorted.enumerated() { positions[index] = position }
        var list = order.map { found[$0].ordered }
        for position in list.indices {
            let index = order[position]
            if found[index].facts.isReachable { list[position].rank = position + 1 }
            guard position > 0 else { continue }
            let previous = order[position - 1]
            // Rule 9 can swap addresses of one family around an address of the other, against the given order.
            let other: OrderedAddress.Rule = previous < index ? .givenOrder : .longestPrefix
            list[position].rule =
                positions[previous] > positions[index]
                ? .interleaved
                : found[previous].facts.decision(against: found[index].facts)?.rule ?? other
        }
        return list
    }
}

extension [IPAddress] {
    /// The first four addresses, in words.
    fileprivate var listed: String {
        guard !isEmpty else { return "no address" }
        return prefix(4).map(\.description).joined(separator: ", ") + (count > 4 ? ", ..." : "")
    }
}

/// The facts about one of the addresses.
private struct Destination {
    let facts: DestinationFacts
    let ordered: OrderedAddress

    init(
        _ address: IPAddress,
        _ options: ReachabilityOptions,
        _ given: AddressPolicy?,
        _ known: inout Known
    ) throws(Interruption) {
        let evaluation = try known.evaluation(of: .address(address), options, .source)
        let policy = if let given { given } else { try known.unnotified.addressPolicy.get() }
        var source = evaluation.sourceAddress
        if !evaluation.flags.isNetworkReachable {
            facts = DestinationFacts(address.unmapped, policy)
        } else if let source {
            facts = try Self.facts(address.unmapped, from: source, evaluation, policy, &known)
        } else {
            // In a recorded or simulated network, the routing tables do not show which source address the kernel
            // chooses.
            var sources: [IPAddress] = []
            if let query = evaluation.query, let answer = evaluation.answer {
                sources = try known.host.sources.get(SourceQuery(query, after: answer))
            }
            facts = try Self.facts(address.unmapped, from: sources.first, evaluation, policy, &known)
            for other in sources.dropFirst()
            where try Self.facts(address.unmapped, from: other, evaluation, policy, &known) != facts {
                throw .undecided(
                    "order addresses",
                    "the kernel can select \(sources[0]) or \(other) as the source for \(address)")
            }
            if sources.count == 1 { source = sources[0] }
        }
        ordered = OrderedAddress(
            address: address, sourceAddress: source, interface: evaluation.facts.map(NetworkInterface.init),
            gateway: evaluation.gateway, flags: evaluation.flags, reason: evaluation.reason)
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
        // All of 127.0.0.0/8 belongs to this host.
        let own = source.family == .v4 && source.isLoopback ? .loopbackV4 : source.withoutZone
        let owners = try known.host.addresses.get().filter { $0.address.withoutZone == own }
        let owner = owners.first { $0.interfaceIndex == link?.index } ?? owners.first
        return DestinationFacts(address, from: source, owner, through: link, policy)
    }
}
