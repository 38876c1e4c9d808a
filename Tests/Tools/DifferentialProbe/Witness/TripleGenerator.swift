// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRecording
internal import RoutingModel
internal import TestSupport

/// Draws targets and bindings, each kind of binding about equally often.
struct TripleGenerator {
    private var random: SeededGenerator
    private var targets: QueryGenerator
    private let kinds: [Triple.Kind]
    private let names: [String]
    private let addresses: [InterfaceAddress]
    private let nameOfIndex: [UInt32: String]
    /// The prefixes of broadcast and multicast entries, which TCP refuses.
    private let groups: [IPPrefix]
    /// The sets of public addresses that sockets connect to in place of the default path: of IPv4, of IPv6, of both.
    private let publicAddresses: [[IPAddress]]
    private var drawn: Int

    /// Draws about the interfaces, addresses and routes of a snapshot.
    ///
    /// `start` is the place in the sequence of kinds to begin with, so that many short runs share the kinds evenly.
    init(seed: UInt64, about snapshot: NetworkSnapshot, startingAt start: Int) {
        random = SeededGenerator(seed: seed)
        let publicAddresses = Self.publicAddresses(snapshot)
        self.publicAddresses = publicAddresses
        targets = QueryGenerator(seed: ~seed, about: snapshot)
        let usable = Triple.Kind.allCases.filter { kind in
            switch kind {
            case .user: Namespace.knows(user: Self.otherUser)
            case .defaultPath, .tunnel: false
            default: true
            }
        }
        // The default path has three forms, and is drawn more often than another kind.
        let hasTunnels = snapshot.links.values.contains { NetworkGenerator.tunnelNames.contains($0.name) }
        kinds =
            usable + (publicAddresses.isEmpty ? [] : [.defaultPath, .defaultPath])
            + (hasTunnels ? [.tunnel, .tunnel] : [])
        names = snapshot.links.values.flatMap { [$0.name] + $0.alternativeNames }.sorted()
        addresses = snapshot.addresses
        groups = snapshot.routes.filter { [.broadcast, .multicast].contains($0.type) }.map(\.destination)
        nameOfIndex = snapshot.links.byIndex.mapValues(\.name)
        drawn = start
    }

    /// The public addresses that a network treats as it treats those that the library asks about.
    ///
    /// An address cannot show the default path where a prefix contains only one of the two, or where a route of another
    /// type than unicast takes packets: such a route is not a default path, and a socket connects.
    private static func publicAddresses(_ snapshot: NetworkSnapshot) -> [[IPAddress]] {
        let usual: Set<RouteType> = [.unicast, .blackhole, .unreachable, .prohibit, .throw]
        let prefixes = snapshot.routes.map(\.destination) + snapshot.rules.compactMap(\.destination)
        let unusual = snapshot.routes.filter { !usual.contains($0.type) }.map(\.destination)
        func isUsable(_ address: IPAddress, _ probe: IPAddress) -> Bool {
            prefixes.allSatisfy { $0.contains(address) == $0.contains(probe) }
                && !unusual.contains { $0.contains(address) }
        }
        let known = SocketWitness.publicAddresses
        let halves = zip(known.prefix(2), [IPAddress(12, 0, 0, 1), IPAddress(206, 0, 0, 1)])
        let v4 = halves.allSatisfy(isUsable) ? Array(known.prefix(2)) : []
        let probe6 = IPAddress(v6High: 0x2600 << 48, low: 1)
        let v6 = known.dropFirst(2).filter { isUsable($0, probe6) }.prefix(1)
        let both = v4.isEmpty || v6.isEmpty ? [] : v4 + v6
        return [v4, Array(v6), both].filter { !$0.isEmpty }
    }

    static let otherUser: UInt32 = 1_500

    /// The next triple.
    mutating func next() -> Triple {
        let kind = kinds[drawn % kinds.count]
        drawn += 1
        var triple = Triple(kind, target: target())
        switch kind {
        case .none: break
        case .device: triple.device = random.pick(names)
        case .source: triple.source = source(triple)
        case .mark: triple.mark = random.pick([1, 7, 0x100, 0x107])
        case .deviceAndSource:
            triple.device = random.pick(names)
            triple.source = source(triple)
        case .zone: triple.target.zone = ZoneIdentifier(name: random.pick(names))
        case .user: triple.user = random.pick([Self.otherUser, Self.otherUser, 0])
        case .flow: drawFlow(&triple)
        case .transparent:
            // Without a port the socket is not connected.
            (triple.source, triple.port) = (foreignSource(triple), 9)
            if isOfGroup(foreignSource(triple)) { triple.source = nil }
        case .defaultPath:
            triple.target = .anyV4
            triple.publicAddresses = random.pick(publicAddresses)
            if random.once(in: 4) { triple.device = random.pick(names) }
        case .tunnel:
            triple.target = IPAddress(random.pick(NetworkGenerator.tunnelTargets)) ?? triple.target
            triple.port = 9
        }
        // Some of each kind are marked too, so that selectors meet.
        if kind != .none, kind != .mark, random.once(in: 8) { triple.mark = 7 }
        return triple
    }

    private mutating func drawFlow(_ triple: inout Triple) {
        triple.isTCP = random.once(in: 3)
        triple.port = random.pick([0, 53, 53, 80])
        triple.sourcePort = random.pick([0, 0, 1_234, 3_000])
        triple.typeOfService = random.pick([0, 0x10, 0x10, 0xb8])
        if random.once(in: 4) { triple.device = random.pick(names) }
    }

    /// A target; the zero addresses stand for the default path, which no socket connects to.
    private mutating func target() -> IPAddress {
        while true {
            let target = targets.next().destination.unmapped
            if !target.isUnspecified { return target }
        }
    }

    /// An address of the target's family that is none of this host.
    private func foreignSource(_ triple: Triple) -> IPAddress {
        triple.target.family == .v4
            ? IPAddress(203, 0, 113, 1) : IPAddress(v6High: 0xfd00 << 48, low: 7)
    }

    /// Whether a socket that is bound to an address sends from another one, as from a broadcast address.
    private func isOfGroup(_ source: IPAddress) -> Bool {
        groups.contains { $0.contains(source) }
    }

    /// An address of this host in most cases, of the target's family.
    private mutating func source(_ triple: Triple) -> IPAddress? {
        let own = addresses.filter { $0.address.family == triple.target.family }
        let foreign = foreignSource(triple)
        if own.isEmpty || (!isOfGroup(foreign) && random.once(in: 8)) { return foreign }
        let address = random.pick(own)
        var source = address.address
        // A socket can bind to a link-local address only where it names the interface.
        // A zone that is another interface than the device would replace it.
        if source.needsZone {
            let name = triple.device ?? nameOfIndex[address.interfaceIndex]
            source.zone = name.flatMap { ZoneIdentifier(name: $0) }
        }
        return source
    }
}

extension IPAddress {
    /// Whether the address is a multicast group or the limited broadcast address.
    var isGroup: Bool { isMulticast || self == IPAddress(255, 255, 255, 255) }
}
