// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// The addresses of all interfaces, in the order of their messages.
///
/// Changes of an address take constant time.
package struct AddressBook: Sendable {
    /// What makes it the same address.
    ///
    /// An interface has an IPv6 address once; the same IPv4 address can have several subnets.
    package struct Key: Hashable {
        package let interface: UInt32
        package let address: IPAddress
        package let subnet: UInt8?
        let peer: IPAddress?

        /// The identity of an address.
        package init(_ address: InterfaceAddress) {
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

    private struct Entry {
        /// The addresses that came before have lower numbers.
        let number: Int
        var address: InterfaceAddress
    }

    private var entries: [Key: Entry] = [:]
    private var byOwner: [Owner: Set<Key>] = [:]
    private var byAddress: [IPAddress: Set<Key>] = [:]
    private var nextNumber = 0
    /// The first number of an address that came after the dump.
    ///
    /// A dump lists addresses by interface, not in the order in which they were added.
    private var dumpEnd = 0

    /// All of them.
    var all: [InterfaceAddress] {
        entries.values.sorted { $0.number < $1.number }.map(\.address)
    }

    /// Whether there is an address of a family.
    func hasAny(_ family: IPAddress.Family) -> Bool {
        byOwner.keys.contains { $0.family == family }
    }

    /// Whether an interface has an address of a family.
    func hasAny(_ family: IPAddress.Family, ofInterface index: UInt32) -> Bool {
        byOwner[Owner(interface: index, family: family)] != nil
    }

    /// Whether any interface has an address.
    func contains(_ address: IPAddress) -> Bool {
        byAddress[address] != nil
    }

    /// Whether an interface has an address.
    func contains(_ address: IPAddress, ofInterface index: UInt32) -> Bool {
        byAddress[address]?.contains { $0.interface == index } ?? false
    }

    /// The addresses of an interface.
    func addresses(ofInterface index: UInt32, _ family: IPAddress.Family) -> [InterfaceAddress] {
        ordered(byOwner[Owner(interface: index, family: family)]).map(\.address)
    }

    /// The interface that got an address last: the one that `__ip_dev_find` finds, also while it is down.
    ///
    /// - Returns: The interface's index; several where the order is unknown, as of addresses of one dump that were
    ///   added within 1/100 s.
    func latestOwners(of address: IPAddress) -> [UInt32] {
        var latest: [InterfaceAddress] = []
        for next in ordered(byAddress[address]) {
            if let known = latest.first {
                if let old = known.created, let new = next.address.created, old != new {
                    if new < old { continue }
                } else if next.number < dumpEnd {
                    latest.append(next.address)
                    continue
                }
            }
            latest = [next.address]
        }
        return Set(latest.map(\.interfaceIndex)).sorted()
    }

    private func ordered(_ keys: Set<Key>?) -> [Entry] {
        (keys ?? []).compactMap { entries[$0] }.sorted { $0.number < $1.number }
    }

    /// Says that the addresses so far came in a dump; later ones come in the order in which they are added.
    mutating func dumpEnded() {
        dumpEnd = nextNumber
    }

    /// Inserts an address, or updates it.
    mutating func insert(_ address: InterfaceAddress) {
        let key = Key(address)
        guard entries[key] == nil else {
            entries[key]?.address = address
            return
        }
        entries[key] = Entry(number: nextNumber, address: address)
        nextNumber += 1
        byOwner[Owner(interface: key.interface, family: key.address.family), default: []].insert(key)
        byAddress[key.address, default: []].insert(key)
    }

    /// Removes an address.
    mutating func remove(_ address: InterfaceAddress) {
        let key = Key(address)
        guard entries.removeValue(forKey: key) != nil else { return }
        byOwner.remove(key, at: Owner(interface: key.interface, family: key.address.family))
        byAddress.remove(key, at: key.address)
    }
}

extension Dictionary {
    /// Removes a member of the set at a key, and the set with its last member.
    mutating func remove<Member>(_ member: Member, at key: Key) where Value == Set<Member> {
        self[key]?.remove(member)
        if self[key]?.isEmpty ?? false { self[key] = nil }
    }
}
