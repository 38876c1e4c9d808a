// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel

/// The order of a set of addresses by the library's answers, changed by some of the exceptions.
///
/// Without any it is the order of the library, and with all of them that of getaddrinfo.
struct GlibcOrder {
    private let set: [IPAddress]
    private let answers: [OrderedAddress]
    private let sources: [IPAddress?]
    private let own: [InterfaceAddress]
    private let links: [UInt32: Link]
    private let policy = AddressPolicy.current
    /// Whether an IPv6 address stands before each address, or is it.
    private let followsIPv6: [Bool]

    /// - Parameters:
    ///   - set: The addresses in the order given.
    ///   - ordered: The library's order.
    ///   - network: The network.
    init(_ set: [IPAddress], _ ordered: [OrderedAddress], _ network: OrderedNetwork) {
        self.set = set
        answers = set.compactMap { address in ordered.first { $0.address == address } }
        sources = set.map(Getaddrinfo.source)
        own = network.addresses
        links = network.links
        followsIPv6 = set.indices.map { index in set[...index].contains { $0.family == .v6 } }
    }

    /// The order with some exceptions.
    func order(_ exceptions: Set<GlibcException>) -> [IPAddress] {
        let facts = set.indices.map { self.facts($0, exceptions) }
        guard exceptions.contains(.circle) else { return DestinationFacts.order(facts).map { set[$0] } }
        let order = Self.sorted(Array(set.indices)) { left, right in
            facts[left].decision(against: facts[right])?.isPreferred ?? (left < right)
        }
        return order.map { set[$0] }
    }

    /// The fewest exceptions that explain an order; `nil` where all together do not give it.
    func explanation(of order: [IPAddress]) -> Set<GlibcException>? {
        guard self.order(Set(GlibcException.allCases)) == order else { return nil }
        return Self.subsets.first { self.order($0) == order }
    }

    /// Whether each socket that connects has the source address that the library says.
    var sourcesAgree: Bool {
        zip(answers, sources).allSatisfy { answer, source in
            answer.sourceAddress == nil || source == nil || answer.sourceAddress == source?.unmapped
        }
    }

    /// The sets of exceptions, the smallest first.
    private static let subsets: [Set<GlibcException>] = {
        let all = GlibcException.allCases
        return (0..<1 << all.count).sorted { $0.nonzeroBitCount < $1.nonzeroBitCount }.map { subset in
            Set(all.indices.filter { subset >> $0 & 1 == 1 }.map { all[$0] })
        }
    }()

    // MARK: Facts

    private func facts(_ index: Int, _ exceptions: Set<GlibcException>) -> DestinationFacts {
        let (given, answer) = (set[index], answers[index])
        let isMapped = exceptions.contains(.mapped) && given.isIPv4Mapped
        let destination = isMapped ? given : given.unmapped
        var isReachable = answer.isReachable
        if exceptions.contains(.carrier), sources[index] != nil { isReachable = true }
        if exceptions.contains(.broadcast), sources[index] == nil { isReachable = false }
        guard isReachable, let found = answer.sourceAddress ?? sources[index]?.unmapped else {
            return DestinationFacts(destination, policy)
        }
        let source = isMapped ? found.mapped : found
        let outgoing = answer.interface.flatMap { links[$0.index] }
        let own = self.own(found, outgoing, followsIPv6[index] || isMapped, exceptions)
        let ownsSource = exceptions.contains(.sourceInterface) ? own.map { links[$0.interfaceIndex] } : nil
        var facts = DestinationFacts(destination, from: source, own, through: ownsSource ?? outgoing, policy)
        if exceptions.contains(.unlisted), own == nil { facts.isNative = false }
        if exceptions.contains(.hostBits) { facts.commonBits = Self.commonBits(destination, source, own) }
        return facts
    }

    /// The source address as it is found among those of interfaces.
    private func own(
        _ source: IPAddress,
        _ outgoing: Link?,
        _ hasIPv6Socket: Bool,
        _ exceptions: Set<GlibcException>
    ) -> InterfaceAddress? {
        func isListed(_ address: InterfaceAddress) -> IPAddress {
            exceptions.contains(.peer) ? address.peer ?? address.address : address.address
        }
        if exceptions.contains(.noList),
            !own.contains(where: { isListed($0).family == .v6 && !isListed($0).isLoopback })
        {
            return nil
        }
        let keepsLoopback = exceptions.contains(.loopback) && hasIPv6Socket
        let wanted =
            source.family == .v4 && source.isLoopback && !keepsLoopback ? .loopbackV4 : source.withoutZone
        let owners = own.filter { isListed($0).withoutZone == wanted }
        guard exceptions.contains(.shared) else {
            return owners.first { $0.interfaceIndex == outgoing?.index } ?? owners.first
        }
        let list = Self.sorted(own) { isListed($0).mappedBits <= isListed($1).mappedBits }
        var (lower, upper) = (0, list.count)
        while lower < upper {
            let middle = (lower + upper) / 2
            let bits = isListed(list[middle]).mappedBits
            if bits == wanted.mappedBits { return list[middle] }
            if wanted.mappedBits < bits { upper = middle } else { lower = middle + 1 }
        }
        return nil
    }

    /// The leading bits that an address has in common with its source, for IPv4 in its subnet alone.
    private static func commonBits(_ destination: IPAddress, _ source: IPAddress, _ own: InterfaceAddress?)
        -> Int
    {
        let common = (destination.bits ^ source.bits).leadingZeroBitCount
        guard destination.family == .v4 else { return common }
        // A shift by 32 bits is none on the processors that count.
        let length = own.map { $0.prefixLength == 0 ? 32 : Int($0.prefixLength) } ?? 32
        return common - 96 >= length ? common - 96 : 0
    }

    // MARK: Sorting

    /// A merge sort from the top, whose comparisons need not be consistent: `msort_with_tmp`.
    private static func sorted<Element>(_ all: [Element], _ isFirst: (Element, Element) -> Bool) -> [Element]
    {
        guard all.count > 1 else { return all }
        var left = sorted(Array(all[..<(all.count / 2)]), isFirst)[...]
        var right = sorted(Array(all[(all.count / 2)...]), isFirst)[...]
        var merged: [Element] = []
        while let first = left.first, let second = right.first {
            merged.append(isFirst(first, second) ? left.removeFirst() : right.removeFirst())
        }
        return merged + left + right
    }
}

extension IPAddress {
    /// The bits of the address, those of the IPv4-mapped one for an IPv4 address.
    fileprivate var mappedBits: UInt128 { family == .v4 ? 0xFFFF << 32 | bits : bits }

    /// The IPv4-mapped address of an IPv4 address.
    fileprivate var mapped: IPAddress {
        family == .v4 ? IPAddress(v6High: 0, low: 0xFFFF << 32 | low) : self
    }
}
