// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What distinguishes the network of a path from others: the name of its wireless network, and its gateways.
///
/// ```swift
/// for try await identity in NetworkSource.kernel.updates(of: .identity()) {
///     print(identity == nil ? "an unknown network" : "a network that can be recognised")
/// }
/// ```
///
/// Two networks can have the same addresses, and the hardware address of a gateway differs. It needs no manager and no
/// privilege. The same network can have several identities: after its router was replaced, through another radio of
/// a network whose access points are its gateways, and while the addresses of only some gateways are known.
///
/// It locates the user: databases map hardware addresses of access points to places. Do not send or log it. A hash of
/// it is no protection, as few values have to be tried, so this type has none: store a keyed hash of ``description``
/// with a secret of your program, such as HMAC with SHA-256.
public struct NetworkIdentity: Hashable, Sendable {
    /// The name of the wireless network, as bytes, which need not be UTF-8; `nil` without Wi-Fi.
    public let ssid: [UInt8]?
    /// The hardware addresses of the gateways that packets take, each once, in the order of their bytes.
    public let gateways: [[UInt8]]

    /// Creates an identity; `nil` if nothing is known.
    package init?(ssid: [UInt8]?, gateways: [[UInt8]]) {
        guard ssid != nil || !gateways.isEmpty else { return nil }
        self.ssid = ssid
        self.gateways = Set(gateways).sorted { $0.lexicographicallyPrecedes($1) }
    }
}

extension NetworkIdentity: CustomStringConvertible {
    /// A text that stays the same in all versions of this package, such as `ssid=686f6d65 gateways=02:00:00:00:00:01`.
    ///
    /// The bytes are in lower-case hexadecimal digits, two each; without separators in the name, with colons in an
    /// address, with commas between addresses. What is not known is left out with its word.
    public var description: String {
        let addresses = gateways.map { $0.map(Self.hexadecimal).joined(separator: ":") }
        return [
            ssid.map { "ssid=" + $0.map(Self.hexadecimal).joined() },
            addresses.isEmpty ? nil : "gateways=" + addresses.joined(separator: ","),
        ].compactMap(\.self).joined(separator: " ")
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
}

extension NetworkIdentity {
    /// Asks by what the network of a path is recognised; `nil` if nothing is known.
    ///
    /// - Throws: `ReachabilityError` if the kernel's neighbours or wireless interfaces cannot be listed.
    init?(of path: NetworkPath, _ routing: any RoutingSource) throws(ReachabilityError) {
        guard let neighbours = try routing.hardwareAddresses() else { return nil }
        var ssid: [UInt8]?
        for interface in path.usedInterfaces where interface.type == .wifi && ssid == nil {
            ssid = try routing.ssid(ofInterface: interface.index)
        }
        self.init(ssid: ssid, gateways: path.usedGateways.compactMap { neighbours[$0] })
    }
}
