// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// The addresses of all interfaces, in the order of their messages.
///
/// Changes of an address take constant time.
package struct AddressBook: Sendable {
    /// The identity of an address.
    ///
    /// An interface has an IPv6 address only once. It can have the same IPv4 address with several subnets.
    package struct Key: Hashable {
        package let interface: UInt32
        package let address: IPAddress
        package let subnet: UInt8?
        let peer: IPAddress?

        /// The identity of an interface's address.
        package init(_ address: InterfaceAddress) {
            let isIPv4 = address.address.family == .v4
            interface = address.interfaceIndex
            self.address = address.address
            subnet = isIPv4 ? address.prefixLength : nil
            peer = isIPv4 ? address.peer : nil
        }
    }

    /// The interface and family of addresses.
    private struct Owner: Hashable {
        let interface: UInt32
        let family: IPAddress.Family
    }

    /// The number of each address.
    ///
    /// Earlier addresses have lower numbers.
    private var numbers: [Key: Int] = [:]
    private var entries: [Int: InterfaceAddress] = [:]
    /// Ascending numbers.
    private var byOwner: [Owner: [Int]] = [:]
    private var byAddress: [IPAddress: [Int]] = [:]
    private var nextNumber = 0
    /// The first number of an address that was added after the dump.
    ///
    /// A dump lists addresses by interface, not in the order in which they were added.
    private var dumpEnd = 0

    /// All addresses.
    var all: [InterfaceAddress] {
        entries.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Whether there is an address of a family.
    func hasAny(_ family: IPAddress.Family) -> Bool {
        byOwner.keys.contains { $0.family == family }
    }

    /// Whether an interface has an address of a family.
    func hasAny(_ family: IPAddress.Family, ofInterface index: UInt32) -> Bool {
        byOwner[Owner(interface: index, family: family)] != nil
    }

    /// The interfaces that have an address of a family, in no particular order.
    func owners(_ family: IPAddress.Family) -> [UInt32] {
        byOwner.keys.filter { $0.family == family }.map(\.interface)
    }

    /// Whether any interface has an address.
    func contains(_ address: IPAddress) -> Bool {
        byAddress[address] != nil
    }

    /// Whether an interface has an address.
    func contains(_ address: IPAddress, ofInterface index: UInt32) -> Bool {
        byAddress[address]?.contains { entries[$0]?.interfaceIndex == index } ?? false
    }

    /// The addresses of an interface.
    func addresses(ofInterface index: UInt32, _ family: IPAddress.Family) -> [InterfaceAddress] {
        (byOwner[Owner(interface: index, family: family)] ?? []).compactMap { entries[$0] }
    }

    /// The interface that got an address last, even if it is down: the one that `__ip_dev_find` finds.
    ///
    /// - Returns: The interface's index; several if the order is unknown, for example of addresses of one dump that
    ///   were added within 1/100 s.
    func latestOwners(of address: IPAddress) -> [UInt32] {
        var latest: [InterfaceAddress] = []
        for number in byAddress[address] ?? [] {
            guard let next = entries[number] else { continue }
            if let known = latest.first {
                if let old = known.created, let new = next.created, old != new {
                    if new < old { continue }
                } else if number < dumpEnd {
                    latest.append(next)
                    continue
                }
            }
            latest = [next]
        }
        return Set(latest.map(\.interfaceIndex)).sorted()
    }

    /// Records that the addresses so far came from a dump.
    ///
    /// Later addresses come in the order in which they are added.
    mutating func dumpEnded() {
        dumpEnd = nextNumber
    }

    /// Inserts or updates an address.
    mutating func insert(_ address: InterfaceAddress) {
        let key = Key(address)
        if let number = numbers[key] {
            entries[number] = address
            return
        }
        numbers[key] = nextNumber
        entries[nextNumber] = address
        byOwner[Owner(interface: key.interface, family: key.address.family), default: []].append(nextNumber)
        byAddress[key.address, default: []].append(nextNumber)
        nextNumber += 1
    }

    /// Removes an address.
    mutating func remove(_ address: InterfaceAddress) {
        let key = Key(address)
        guard let number = numbers.removeValue(forKey: key) else { return }
        entries[number] = nil
        Self.remove(number, from: &byOwner[Owner(interface: key.interface, family: key.address.family)])
        Self.remove(number, from: &byAddress[key.address])
    }

    /// Removes a number from a sorted list.
    ///
    /// Removes the list if it becomes empty.
    private static func remove(_ number: Int, from list: inout [Int]?) {
        guard let place = list?.partitioningIndex(where: { $0 >= number }) else { return }
        if list?.count == 1 { list = nil } else { list?.remove(at: place) }
    }
}
