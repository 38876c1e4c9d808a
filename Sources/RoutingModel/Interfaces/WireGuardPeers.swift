// SPDX-License-Identifier: Apache-2.0

/// Where a WireGuard interface sends packets, by their destinations.
///
/// The kernel's counterpart is the answer to WG_CMD_GET_DEVICE, which takes CAP_NET_ADMIN.
package struct WireGuardPeers: Hashable, Sendable {
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

    /// The ends of the packets to a destination: those of the peer with the longest prefix that holds it.
    ///
    /// - Returns: The ends; `nil` if no peer has the destination, or that peer no endpoint.
    package func ends(to destination: IPAddress) -> TunnelEnds? {
        for length in lengths {
            guard let prefix = IPPrefix(destination, length: length), let found = ends[prefix] else {
                continue
            }
            return found
        }
        return nil
    }
}
