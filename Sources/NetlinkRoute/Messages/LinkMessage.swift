// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
package import RoutingModel

/// What one message tells about an interface, which can be only a part.
///
/// Wi-Fi drivers announce scans with an RTM_NEWLINK of two attributes; IPv6 and bridges send messages of
/// their own families under the same type. What is missing there has not gone away.
package struct LinkMessage: Hashable, Sendable {
    /// The interface as far as the message describes it.
    package var link: Link
    /// The address family of the message: 0 for the interface itself, else it is about that family only.
    package var family: UInt8
    /// Whether the message describes the whole interface.
    package var isWhole: Bool

    init(_ message: cnl_link) {
        link = Link(message)
        family = message.family
        isWhole = message.family == 0 && message.has_operational_state && message.has_mtu
    }
}
