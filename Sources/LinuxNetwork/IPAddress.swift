// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

public import struct FoundationEssentials.Data

/// The package's own address, whose name the protocol hides in this module.
typealias Address = NetlinkReachability.IPAddress

/// An IPv4 or IPv6 address, by Apple's name.
///
/// NetlinkReachability has a structure of the same name: a file that imports both modules writes the module's name in
/// front of it.
public protocol IPAddress: Sendable {
    /// The address in network order: 4 or 16 bytes.
    var rawValue: Data { get }

    /// Creates an address from bytes in network order.
    ///
    /// - Parameters:
    ///   - rawValue: The bytes; `nil` is returned unless their number is the family's, 4 or 16.
    ///   - interface: The interface that the address belongs to.
    init?(_ rawValue: Data, _ interface: NWInterface?)

    /// Reads an address, with `%` and an interface if it has one; `nil` for any other text.
    init?(_ string: String)

    /// The interface that the address belongs to; `nil` if it was created without one.
    var interface: NWInterface? { get }

    /// Whether it is a loopback address.
    var isLoopback: Bool { get }
    /// Whether it is a link-local address.
    var isLinkLocal: Bool { get }
    /// Whether it is a multicast address.
    var isMulticast: Bool { get }
}

/// An address and its interface, which is not part of the address here.
struct ScopedAddress: Hashable, Sendable {
    let address: Address
    let interface: NWInterface?

    init(_ address: Address, on interface: NWInterface? = nil) {
        self.address = address.withoutZone
        self.interface = interface
    }

    /// Creates an address from 4 or 16 bytes.
    init?(_ bytes: Data, _ family: Address.Family, on interface: NWInterface?) {
        guard let address = Address(bytes: bytes), address.family == family else { return nil }
        self.init(address, on: interface)
    }

    /// Reads the forms that getaddrinfo(3) accepts with `AI_NUMERICHOST`: `127.1`, and a zone that names an interface
    /// of this host or is an index.
    init?(_ text: String) {
        if let percent = text.lastIndex(of: "%") {
            let zone = String(text[text.index(after: percent)...])
            if let interface = NWInterface(named: zone), let address = Self.plain(text[..<percent]) {
                self.init(address, on: interface)
                return
            }
        }
        guard let address = Self.plain(text) else { return nil }
        guard let zone = address.zone else {
            self.init(address)
            return
        }
        // The interface of an index can appear later; a name without an interface is not an address.
        guard address.family == .v6, let index = zone.index else { return nil }
        self.init(address, on: NWInterface(index: index))
    }

    private static func plain(_ text: some StringProtocol) -> Address? {
        Address(text) ?? Address.legacyIPv4(text)
    }

    var rawValue: Data { Data(address.networkBytes) }

    var description: String {
        interface.map { "\(address)%\($0.name)" } ?? "\(address)"
    }
}
