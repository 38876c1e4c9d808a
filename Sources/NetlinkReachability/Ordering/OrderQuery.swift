// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The query for the order of addresses: what is found out about each, and the rules of RFC 6724 on that.
final class OrderQuery: Query {
    /// The addresses, unless they are those of a name.
    private let addresses: [IPAddress]
    /// The name whose addresses they are; `nil` for none.
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

    func areSame(_ one: [OrderedAddress], _ other: [OrderedAddress]) -> Bool { one == other }

    /// Orders the addresses; those of other families than the options have are left out.
    func value(_ known: inout Known) throws(Interruption) -> [OrderedAddress] {
        var addresses = addresses
        if let name = namedTarget?.name { addresses = try known.resolution(of: name).destinations }
        // Nearly every address needs them.
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

    /// The addresses so that the families alternate, beginning with that of the first.
    private func interleave(_ order: ArraySlice<Int>, _ found: [Destination]) -> [Int] {
        guard let first = order.first.map({ found[$0].facts.family }) else { return [] }
        let preferred = order.filter { found[$0].facts.family == first }
        let others = order.filter { found[$0].facts.family != first }
        let count = min(preferred.count, others.count)
        return zip(preferred, others).flatMap { [$0, $1] } + preferred.dropFirst(count)
            + others.dropFirst(count)
    }

    /// The addresses with their ranks, and what put each behind the one before.
    ///
    /// - Parameters:
    ///   - order: The indices of the addresses, in order.
    ///   - sorted: The indices in the order of RFC 6724.
    ///   - found: What was found out about the addresses.
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
            // Rule 9 can exchange addresses of one family across one of the other, against the given order.
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
    /// The first addresses, in words.
    fileprivate var listed: String {
        guard !isEmpty else { return "no address" }
        return prefix(4).map(\.description).joined(separator: ", ") + (count > 4 ? ", ..." : "")
    }
}

/// What is found out about one of the addresses.
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
        return try known.host.sources.get(SourceQuery(query, after: answer))
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
