// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

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

    /// The default path of one family, through the interface of a zone or any: public addresses stand for it.
    ///
    /// IPv4 has one in each half of the address space, because a host can send one half elsewhere. Filters of special
    /// addresses do not answer for them, as they would for 0.0.0.1 or `::`.
    package static func defaultPath(_ family: IPAddress.Family, zone: ZoneIdentifier? = nil) -> [Candidate] {
        let probes =
            switch family {
            case .v4: [IPAddress(12, 0, 0, 1), IPAddress(206, 0, 0, 1)]
            case .v6: [IPAddress(v6High: 0x2600 << 48, low: 1)]
            }
        return probes.map { probe in
            var probe = probe
            probe.zone = zone
            return Candidate(destination: probe, isDefaultPath: true)
        }
    }

    /// The candidates of an address, which are those of the default path for the zero addresses.
    ///
    /// A resolver can return a zero address too: many hosts files map names to 0.0.0.0.
    package static func candidates(for address: IPAddress) -> [Candidate] {
        let address = address.unmapped
        guard address.isUnspecified else { return [.address(address)] }
        return IPAddress.Family.allCases.flatMap { defaultPath($0, zone: address.zone) }
    }
}
