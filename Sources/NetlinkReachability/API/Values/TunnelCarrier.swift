// SPDX-License-Identifier: Apache-2.0

/// The carrier of a tunnel: the interface through which the tunnel's outer packets leave.
///
/// ```swift
/// for carrier in try await NetworkSource.kernel.value(of: .path()).carriers { print(carrier) }
/// // wg0 is carried by eth0 (mark 51820; inferred from a rule)
/// ```
///
/// If tunnels are nested, each has a carrier, and the tunnel that packets enter first comes first. If the outer
/// packets can leave through several interfaces, the tunnel has a carrier for each.
///
/// What it cannot know: whether the other end of the tunnel answers.
public struct TunnelCarrier: Hashable, Sendable, Codable {
    /// The source of the knowledge about a carrier.
    public enum Evidence: String, Hashable, Sendable, CaseIterable, Codable {
        /// Exact: the route to the remote end, with the interface and the mark of the tunnel (`ip -d link`).
        case remote
        /// Exact: the route to the endpoint of the WireGuard peer that has the destination, with the mark of the
        /// interface (`wg show`); or that there is no such peer or endpoint. Reading these requires CAP_NET_ADMIN.
        case endpoint
        /// Exact: the outer packets are bound to the interface. The kernel does not show their destination.
        case link
        /// Inferred: a policy rule excludes packets with a mark from the tunnel's routing table, as the rules of
        /// wg-quick and Tailscale do. The carrier is the default path of packets with that mark.
        case rule
        /// Inferred: the tunnel has the default route or half of all addresses, and the same table has a route to a
        /// single host beside it, as with OpenVPN.
        case hostRoute
        /// The carrier is not known.
        case unknown

        /// See ``TunnelCarrier/isExact``.
        var isExact: Bool { [.remote, .endpoint, .link].contains(self) }
    }

    /// The tunnel.
    public let tunnel: NetworkInterface
    /// The interface that carries the tunnel; `nil` if it is not known, or if there is no route, peer or endpoint.
    public package(set) var interface: NetworkInterface?
    /// The source of the knowledge about the carrier.
    public let evidence: Evidence
    /// The mark of the outer packets for their routing; 0 for none.
    public package(set) var mark: UInt32 = 0
    /// The destination of the outer packets; `nil` if it is not known.
    public package(set) var remote: IPAddress?
    /// The flags of the outer packets.
    public package(set) var flags: ReachabilityFlags = []
    /// Why the outer packets can or cannot leave; `nil` if the carrier is not known.
    public package(set) var reason: ReachabilityReason?

    /// Whether the kernel shows the carrier.
    ///
    /// An inferred carrier does not affect any flags.
    public var isExact: Bool { evidence.isExact }

    init(_ tunnel: NetworkInterface, _ evidence: Evidence) {
        (self.tunnel, self.evidence) = (tunnel, evidence)
    }
}

extension TunnelCarrier: CustomStringConvertible {
    /// One sentence, such as `wg0 is carried by eth0 (mark 51820; inferred from a rule)`.
    public var description: String {
        guard evidence != .unknown else { return "what carries \(tunnel.name) is not known" }
        var details: [String] = []
        if let remote, evidence != .rule { details.append("to \(remote)") }
        if mark != 0 { details.append("mark \(mark)") }
        var words = details.joined(separator: ", ")
        switch evidence {
        case .rule: words += words.isEmpty ? "inferred from a rule" : "; inferred from a rule"
        case .hostRoute: words += "; inferred from a host route"
        default: break
        }
        if !words.isEmpty { words = " (\(words))" }
        let sentence =
            if let interface { "\(tunnel.name) is carried by \(interface.name)\(words)" } else {
                "nothing carries \(tunnel.name)\(words)"
            }
        guard let reason, flags.rank < 2 else { return sentence }
        return "\(sentence): \(reason)"
    }
}
