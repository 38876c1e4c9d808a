// SPDX-License-Identifier: Apache-2.0

/// Where a WireGuard interface sends packets, by their destinations.
///
/// The kernel's counterpart is the answer to WG_CMD_GET_DEVICE, which takes CAP_NET_ADMIN.
package struct WireGuardPeers: Hashable, Sendable {
    /// Where packets to a destination go.
    package enum Exit: Hashable, Sendable {
        /// No peer has the destination: the kernel refuses to send (ENOKEY).
        case noPeer
        /// Nowhere until the peer sends, which shows its endpoint: the kernel refuses to send (EDESTADDRREQ).
        case noEndpoint
        /// To the endpoint of the peer.
        case endpoint(TunnelEnds)

        /// The ends of the packets; `nil` if they cannot be sent.
        package var ends: TunnelEnds? {
            if case .endpoint(let ends) = self { ends } else { nil }
        }
    }

    /// The ends of the peer that an allowed prefix belongs to; `nil` for a peer whose endpoint is not known.
    private var ends: [IPPrefix: TunnelEnds?] = [:]
    /// The lengths of the prefixes, the longest first.
    private var lengths: [Int] = []

    /// No peers.
    package init() {}

    /// Adds a prefix of a peer's allowed addresses.
    ///
    /// - Parameters:
    ///   - prefix: The prefix, which is that of one peer.
    ///   - ends: The ends of its packets; `nil` if the peer has no endpoint yet.
    package mutating func allow(_ prefix: IPPrefix, _ ends: TunnelEnds?) {
        self.ends[prefix] = .some(ends)
        guard !lengths.contains(prefix.length) else { return }
        lengths.insert(prefix.length, at: lengths.firstIndex { $0 < prefix.length } ?? lengths.endIndex)
    }

    /// Where packets to a destination go: to the peer with the longest prefix that holds it.
    package func exit(to destination: IPAddress) -> Exit {
        for length in lengths {
            guard let prefix = IPPrefix(destination, length: length), let found = ends[prefix] else {
                continue
            }
            return found.map(Exit.endpoint) ?? .noEndpoint
        }
        return .noPeer
    }
}
