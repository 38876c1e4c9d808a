// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
internal import RoutingModel

/// The messages of a dump of WG_CMD_GET_DEVICE.
///
/// Several messages describe one device. A message can end within the allowed IPs of a peer. The next message then
/// begins with the same public key, without the endpoint.
struct WireGuardMessages {
    private struct Peer {
        var endpoint: TunnelEnds?
        var allowed: [IPPrefix] = []
    }

    /// The UDP port that the device sends from, in host byte order; 0 if it has none yet.
    private(set) var listenPort: UInt16 = 0
    private var mark: UInt32 = 0
    private var peers: [[UInt8]: Peer] = [:]

    /// Adds a message of a dump.
    ///
    /// - Throws: An error if the message is truncated.
    mutating func add(_ message: NetlinkMessage) throws(MalformedMessage) {
        let attributes = try message.parts(genlmsghdr.self).attributes
        listenPort = try attributes.value(Int(WGDEVICE_A_LISTEN_PORT.rawValue)) ?? listenPort
        mark = try attributes.value(Int(WGDEVICE_A_FWMARK.rawValue)) ?? mark
        try attributes.forEach(in: Int(WGDEVICE_A_PEERS.rawValue)) { (peer) throws(MalformedMessage) in
            guard let key = peer[Int(WGPEER_A_PUBLIC_KEY.rawValue)], key.count == Int(WG_KEY_LEN) else {
                throw MalformedMessage()
            }
            var known = peers[Array(key)] ?? Peer()
            if let endpoint = try TunnelEnds(endpointOf: peer) { known.endpoint = endpoint }
            try peer.forEach(in: Int(WGPEER_A_ALLOWEDIPS.rawValue)) { (entry) throws(MalformedMessage) in
                if let prefix = try IPPrefix(allowedBy: entry) { known.allowed.append(prefix) }
            }
            peers[Array(key)] = known
        }
    }

    /// The peers of the device, with their endpoints.
    var result: WireGuardPeers {
        var result = WireGuardPeers()
        for peer in peers.values {
            let ends = peer.endpoint.map { endpoint in
                var ends = endpoint
                (ends.mark, ends.sourcePort) = (mark, listenPort)
                return ends
            }
            for prefix in peer.allowed { result.allow(prefix, ends) }
        }
        return result
    }
}

extension TunnelEnds {
    /// Reads WGPEER_A_ENDPOINT, a `sockaddr_in` or a `sockaddr_in6`; `nil` for a peer without an endpoint, and for
    /// other families.
    fileprivate init?(endpointOf peer: Attributes) throws(MalformedMessage) {
        guard let bytes = peer[Int(WGPEER_A_ENDPOINT.rawValue)] else { return nil }
        guard bytes.count >= 2 else { throw MalformedMessage() }
        guard let address = IPAddress(sockaddr: bytes) else {
            let number = UInt8(exactly: bytes.loadUnaligned(as: sa_family_t.self))
            guard number.flatMap(IPAddress.Family.init) == nil else { throw MalformedMessage() }
            return nil
        }
        self.init()
        destinationPort = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        (remote, link) = (address.withoutZone, address.zone?.index ?? 0)
    }
}

extension IPPrefix {
    /// Reads an entry of WGPEER_A_ALLOWEDIPS; `nil` for other families, and for an invalid length.
    fileprivate init?(allowedBy entry: Attributes) throws(MalformedMessage) {
        let number = try entry.value(Int(WGALLOWEDIP_A_FAMILY.rawValue), as: UInt16.self)
        guard let family = number.flatMap(UInt8.init(exactly:)).flatMap(IPAddress.Family.init),
            let address = try entry.address(Int(WGALLOWEDIP_A_IPADDR.rawValue), family),
            let length = try entry.value(Int(WGALLOWEDIP_A_CIDR_MASK.rawValue), as: UInt8.self)
        else { return nil }
        self.init(address, length: Int(length))
    }
}
