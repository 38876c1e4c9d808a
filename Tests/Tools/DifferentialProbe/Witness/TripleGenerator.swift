// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel
internal import TestSupport

/// Draws targets and bindings, each kind of binding about equally often.
struct TripleGenerator {
    private var random: SeededGenerator
    private var targets: QuestionGenerator
    private let kinds: [Triple.Kind]
    private let names: [String]
    private let addresses: [InterfaceAddress]
    private let nameOfIndex: [UInt32: String]
    /// The prefixes of broadcast and multicast entries, which TCP refuses.
    private let groups: [IPPrefix]
    /// Public addresses of both families that only default routes match; empty where a default route is no unicast
    /// route, which is no default path, or a prefix matches the library's own probes.
    private let publicAddresses: [IPAddress]
    private var drawn: Int

    /// Draws about the interfaces, addresses and routes of a snapshot.
    ///
    /// `start` is the place in the sequence of kinds to begin with, so that many short runs share the kinds evenly.
    init(seed: UInt64, about snapshot: NetworkSnapshot, startingAt start: Int) {
        random = SeededGenerator(seed: seed)
        let publicAddresses = Self.publicAddresses(snapshot)
        self.publicAddresses = publicAddresses
        targets = QuestionGenerator(seed: ~seed, about: snapshot)
        let usable = Triple.Kind.allCases.filter { kind in
            switch kind {
            case .user: Namespace.knows(user: Self.otherUser)
            case .defaultPath: false
            default: true
            }
        }
        // Few networks have a default path that a socket can show: those ask about it twice as often.
        kinds = usable + (publicAddresses.isEmpty ? [] : [.defaultPath, .defaultPath])
        names = snapshot.links.values.map(\.name).sorted()
        addresses = snapshot.addresses
        groups = snapshot.routes.filter { [.broadcast, .multicast].contains($0.type) }.map(\.destination)
        nameOfIndex = snapshot.links.mapValues(\.name)
        drawn = start
    }

    private static func publicAddresses(_ snapshot: NetworkSnapshot) -> [IPAddress] {
        let prefixes =
            snapshot.routes.map(\.destination).filter { $0.length > 0 }
            + snapshot.rules.compactMap(\.destination)
        func isFree(_ address: IPAddress) -> Bool { !prefixes.contains { $0.contains(address) } }
        let usual: Set<RouteType> = [.unicast, .blackhole, .unreachable, .prohibit, .throw]
        let areDefaultsUsual = snapshot.routes.allSatisfy {
            $0.destination.length > 0 || usual.contains($0.type)
        }
        let candidates = [IPAddress(198, 51, 100, 77), IPAddress(9, 9, 9, 9), IPAddress(101, 1, 2, 3)]
        let public6 = IPAddress(v6High: 0x2000 << 48, low: 1)
        let probes = [
            IPAddress(0, 0, 0, 1), IPAddress(240, 0, 0, 1), IPAddress(255, 255, 255, 254), .anyV6, public6,
        ]
        guard areDefaultsUsual, probes.allSatisfy(isFree), let public4 = candidates.first(where: isFree)
        else {
            return []
        }
        return [public4, public6]
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
        case .defaultPath:
            triple.target = .anyV4
            triple.publicAddress = random.pick(publicAddresses)
        }
        // Some of each kind are marked too, so that selectors meet.
        if kind != .none, kind != .mark, random.once(in: 8) { triple.mark = 7 }
        return triple
    }

    private mutating func drawFlow(_ triple: inout Triple) {
        let target = triple.target
        triple.isTCP = random.once(in: 3) && !target.isGroup && !groups.contains { $0.contains(target) }
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

    /// An address of this host in most cases, of the target's family.
    private mutating func source(_ triple: Triple) -> IPAddress? {
        let own = addresses.filter { $0.address.family == triple.target.family }
        let foreign =
            triple.target.family == .v4
            ? IPAddress(203, 0, 113, 1) : IPAddress(v6High: 0xfd00 << 48, low: 7)
        // A socket that is bound to a broadcast address sends from another one.
        let isForeignUsable = !groups.contains { $0.contains(foreign) }
        if own.isEmpty || (isForeignUsable && random.once(in: 8)) { return foreign }
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
