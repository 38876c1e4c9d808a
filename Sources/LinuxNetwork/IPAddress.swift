// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

public import struct FoundationEssentials.Data

/// The package's own address type, which the protocol hides in this module.
typealias Address = NetlinkReachability.IPAddress

/// An IPv4 or IPv6 address, by Apple's name.
///
/// NetlinkReachability has a structure of the same name. A file that imports both modules writes the module's name in
/// front of it.
public protocol IPAddress: Sendable {
    /// The address in network order: 4 or 16 bytes.
    var rawValue: Data { get }

    /// Creates an address from bytes in network order.
    ///
    /// - Parameters:
    ///   - rawValue: The bytes. The result is `nil` unless their number is that of the family, 4 or 16.
    ///   - interface: The interface that the address belongs to.
    init?(_ rawValue: Data, _ interface: NWInterface?)

    /// Reads an address, with an optional `%` and interface; `nil` for any other text.
    init?(_ string: String)

    /// The interface that the address belongs to; `nil` if it was created without one.
    var interface: NWInterface? { get }

    /// Whether the address is a loopback address.
    var isLoopback: Bool { get }
    /// Whether the address is link-local.
    var isLinkLocal: Bool { get }
    /// Whether the address is a multicast address.
    var isMulticast: Bool { get }
}

/// An address and its interface, which is not part of the address value here.
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

    /// Reads the forms that getaddrinfo(3) accepts with `AI_NUMERICHOST`: `127.1`, and a zone that is the name of an
    /// interface of this host or an index.
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
        // The interface with an index can appear later. An address with the name of a missing interface is invalid.
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
