// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import RoutingModel

/// Reasons, in words, why packets of a working interface may not arrive.
///
/// The kernel's answer does not contain them.
struct InterfaceWarning {
    /// The name of the interface.
    let name: String
    /// The kind of the interface; `nil` for none.
    let kind: String?
    /// The kind of the master that the interface is a port of; `nil` for none.
    let portKind: String?
    /// Why a bridge passes no frames of it, its port; `nil` if it does.
    let portBlocker: String?
    /// Its ports that pass no frames, if it is a bridge.
    let blockedPorts: [String]
    /// Whether it is point-to-point, as a tunnel is.
    let isTunnel: Bool

    /// The addresses of a CLAT (RFC 7335).
    private static let translated = IPPrefix(IPAddress(192, 0, 0, 0), length: 29)

    /// The warnings about packets from an address of the interface.
    func words(from address: IPAddress) -> [String] {
        var words: [String] = []
        if portKind == "bridge" {
            words.append(
                "\(name) is a port of a bridge: \(address) on it answers no ARP, so give it to the bridge")
        }
        if let portBlocker {
            words.append("\(name) is a port in the state \(portBlocker): its bridge drops what arrives there")
        }
        if !blockedPorts.isEmpty {
            words.append("\(name) passes no frames through \(blockedPorts.joined(separator: ", "))")
        }
        if kind == "macvlan" || kind == "macvtap" {
            words.append("\(name) is a \(kind ?? ""): it and the interface below do not reach each other")
        }
        if isTunnel, Self.translated?.contains(address) == true {
            words.append(
                "\(address) on \(name) is translated (464XLAT): whether its uplink works is not known")
        }
        return words
    }
}
