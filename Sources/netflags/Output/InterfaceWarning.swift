// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import RoutingModel

extension NetworkInterface.State {
    /// The addresses of a CLAT (RFC 7335).
    private static let translated = IPPrefix(IPAddress(192, 0, 0, 0), length: 29)

    /// Reasons, in words, why packets of a working interface may not arrive.
    ///
    /// The kernel's answer does not contain them.
    ///
    /// - Parameters:
    ///   - address: The address of the interface that the packets come from.
    ///   - name: The name of the interface.
    ///   - isTunnel: Whether it is point-to-point, as a tunnel is.
    /// - Returns: A sentence for each reason.
    func warnings(from address: IPAddress, on name: String, isTunnel: Bool) -> [String] {
        var words: [String] = []
        if portKind == "bridge" {
            words.append(
                "\(name) is a port of a bridge: \(address) on it answers no ARP, so give it to the bridge")
        }
        if let portBlocker {
            words.append("\(name) is a port in the state \(portBlocker): its bridge drops what arrives there")
        }
        if let blockedPorts {
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
