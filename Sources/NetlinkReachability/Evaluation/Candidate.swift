// SPDX-License-Identifier: Apache-2.0

/// An address that a target stands for, one of possibly several.
package struct Candidate: Hashable, Sendable {
    /// The address that the kernel is asked about.
    package var destination: IPAddress
    /// Whether the address only stands for the default path.
    package var isDefaultPath: Bool

    /// An address that is evaluated for its own sake.
    package static func address(_ address: IPAddress) -> Candidate {
        Candidate(destination: address, isDefaultPath: false)
    }

    /// The default path of one family, through the interface of a zone or any.
    ///
    /// The kernel calls 0.0.0.0 itself its own address, so the next address is asked about.
    package static func defaultPath(_ family: IPAddress.Family, zone: ZoneIdentifier? = nil) -> Candidate {
        var probe = family == .v4 ? IPAddress(0, 0, 0, 1) : .anyV6
        probe.zone = zone
        return Candidate(destination: probe, isDefaultPath: true)
    }

    /// The candidates of an address, which are those of the default path for the zero addresses.
    ///
    /// A resolver can return a zero address too: many hosts files map names to 0.0.0.0.
    package static func candidates(for address: IPAddress) -> [Candidate] {
        let address = address.unmapped
        guard address.isUnspecified else { return [.address(address)] }
        return IPAddress.Family.allCases.map { .defaultPath($0, zone: address.zone) }
    }
}
