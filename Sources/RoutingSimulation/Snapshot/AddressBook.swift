// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The addresses of all interfaces, in the order of their messages.
///
/// Changes and questions about one address or interface take constant time: a removed address leaves a hole, and
/// the holes are closed once they outnumber the addresses.
struct AddressBook: Sendable {
    /// What makes it the same address.
    ///
    /// An interface has an IPv6 address once; the same IPv4 address can have several subnets.
    struct Key: Hashable {
        let interface: UInt32
        let address: IPAddress
        let subnet: UInt8?
        let peer: IPAddress?

        init(_ address: InterfaceAddress) {
            let isIPv4 = address.address.family == .v4
            interface = address.interfaceIndex
            self.address = address.address
            subnet = isIPv4 ? address.prefixLength : nil
            peer = isIPv4 ? address.peer : nil
        }
    }

    /// Whose addresses they are.
    private struct Owner: Hashable {
        let interface: UInt32
        let family: IPAddress.Family
    }

    /// The places of an owner's addresses, in order; the holes among them are left out when they are read.
    private struct Share {
        var places: [Int] = []
        var count = 0
    }

    /// The addresses in order; `nil` for a hole.
    private var slots: [InterfaceAddress?] = []
    private var places: [Key: Int] = [:]
    private var shares: [Owner: Share] = [:]
    /// The number of interfaces that have each address.
    private var holders: [IPAddress: Int] = [:]
    private var familyCounts: [IPAddress.Family: Int] = [:]
    /// The number of leading places whose addresses came in a dump.
    ///
    /// A dump lists addresses by interface, not in the order in which they were added.
    private var dumpedPlaceCount = 0

    /// All of them.
    var all: [InterfaceAddress] { slots.compactMap { $0 } }

    /// How many places are kept, those of holes included.
    var placeCount: Int { slots.count }

    /// Whether there is an address of a family.
    func hasAny(_ family: IPAddress.Family) -> Bool {
        familyCounts[family, default: 0] > 0
    }

    /// Whether an interface has an address of a family.
    func hasAny(_ family: IPAddress.Family, ofInterface index: UInt32) -> Bool {
        shares[Owner(interface: index, family: family)] != nil
    }

    /// Whether any interface has an address.
    func contains(_ address: IPAddress) -> Bool {
        holders[address] != nil
    }

    /// The addresses of an interface.
    func addresses(ofInterface index: UInt32, _ family: IPAddress.Family) -> [InterfaceAddress] {
        shares[Owner(interface: index, family: family)]?.places.compactMap { slots[$0] } ?? []
    }

    /// The interface that got an address last: the one that `__ip_dev_find` finds, also while it is down.
    ///
    /// - Returns: The interface's index; several where the order is unknown, as of addresses of one dump that were
    ///   added within 1/100 s.
    func latestOwners(of address: IPAddress) -> [UInt32] {
        guard contains(address) else { return [] }
        var latest: [InterfaceAddress] = []
        for (place, slot) in slots.enumerated() {
            guard let next = slot, next.address == address else { continue }
            if let known = latest.first {
                if let old = known.created, let new = next.created, old != new {
                    if new < old { continue }
                } else if place < dumpedPlaceCount {
                    latest.append(next)
                    continue
                }
            }
            latest = [next]
        }
        return Set(latest.map(\.interfaceIndex)).sorted()
    }

    /// Says that the addresses so far came in a dump; later ones come in the order in which they are added.
    mutating func dumpEnded() {
        dumpedPlaceCount = slots.count
    }

    /// Inserts an address, or updates it.
    mutating func insert(_ address: InterfaceAddress) {
        let key = Key(address)
        if let place = places[key] {
            slots[place] = address
            return
        }
        places[key] = slots.count
        let owner = Owner(interface: address.interfaceIndex, family: address.address.family)
        shares[owner, default: Share()].places.append(slots.count)
        shares[owner, default: Share()].count += 1
        holders[address.address, default: 0] += 1
        familyCounts[owner.family, default: 0] += 1
        slots.append(address)
    }

    /// Removes an address.
    mutating func remove(_ address: InterfaceAddress) {
        guard let place = places.removeValue(forKey: Key(address)) else { return }
        slots[place] = nil
        let owner = Owner(interface: address.interfaceIndex, family: address.address.family)
        let left = shares[owner, default: Share()].count - 1
        if left == 0 {
            shares[owner] = nil
        } else {
            shares[owner]?.count = left
            closeHoles(of: owner)
        }
        let holders = holders[address.address, default: 1] - 1
        self.holders[address.address] = holders == 0 ? nil : holders
        familyCounts[owner.family, default: 1] -= 1
        closeHoles()
    }

    /// Removes all addresses of an interface.
    mutating func removeAll(ofInterface index: UInt32) {
        for family in IPAddress.Family.allCases {
            for address in addresses(ofInterface: index, family) { remove(address) }
        }
    }

    private mutating func closeHoles(of owner: Owner) {
        guard let share = shares[owner], share.places.count > 2 * share.count + 16 else { return }
        shares[owner]?.places = share.places.filter { slots[$0] != nil }
    }

    private mutating func closeHoles() {
        guard slots.count > 2 * places.count + 16 else { return }
        let all = all
        let dumpedCount = slots.prefix(dumpedPlaceCount).count { $0 != nil }
        self = AddressBook()
        for address in all { insert(address) }
        dumpedPlaceCount = dumpedCount
    }
}
