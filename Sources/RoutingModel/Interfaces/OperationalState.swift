// SPDX-License-Identifier: Apache-2.0

/// Whether an interface can pass packets, as RFC 2863 counts it.
///
/// The kernel's counterpart is `IFLA_OPERSTATE`.
package struct OperationalState: RawRepresentable, Hashable, Sendable {
    /// The kernel's number.
    package let rawValue: UInt8

    /// Wraps the kernel's number; unknown ones are kept.
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The driver does not say.
    ///
    /// Loopback, tunnels and bridges without ports report this while they work.
    package static let unknown = OperationalState(rawValue: 0)
    /// A component is missing.
    package static let notPresent = OperationalState(rawValue: 1)
    /// Cannot pass packets.
    package static let down = OperationalState(rawValue: 2)
    /// The interface below is down.
    package static let lowerLayerDown = OperationalState(rawValue: 3)
    /// In a test mode: no packets of ours pass.
    package static let testing = OperationalState(rawValue: 4)
    /// Has a carrier and waits for an external event, such as an authentication.
    package static let dormant = OperationalState(rawValue: 5)
    /// Ready.
    package static let up = OperationalState(rawValue: 6)
}

extension OperationalState: CustomStringConvertible {
    /// The name that `ip link` prints, in lower case.
    package var description: String {
        let names = ["unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up"]
        return rawValue < names.count ? names[Int(rawValue)] : "state \(rawValue)"
    }
}
