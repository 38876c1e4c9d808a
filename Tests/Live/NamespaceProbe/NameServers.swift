// SPDX-License-Identifier: Apache-2.0

internal import CResolverProbe
internal import Glibc
internal import NetlinkReachability
internal import RoutingModel

/// The name servers of /etc/resolv.conf, as the C library reads them and as the library does.
enum NameServers {
    /// The servers of each in a word: addresses with blanks between them, IPv6 zones as indexes.
    static func both() -> [String] {
        let listed = Nameservers.system() ?? []
        return [cLibrary(), listed.map(words).joined(separator: " ")]
    }

    private static func cLibrary() -> String {
        var servers = [sockaddr_in6](repeating: sockaddr_in6(), count: 3)
        let count = resolver_probe_servers(&servers)
        guard count >= 0 else { return "unreadable" }
        let addresses = servers.prefix(Int(count)).map { server -> String in
            let address = withUnsafeBytes(of: server) { bytes in
                bytes.withMemoryRebound(to: sockaddr.self) {
                    $0.baseAddress.flatMap {
                        try? IPAddress(sockaddr: $0, length: socklen_t(MemoryLayout<sockaddr_in6>.size))
                    }
                }
            }
            return address.map(words) ?? "?"
        }
        return addresses.joined(separator: " ")
    }

    /// An address; the zone of one that counts on a link alone is an index, and missing where there is none.
    private static func words(_ address: IPAddress) -> String {
        let plain = address.withoutZone
        guard plain.needsZone, let zone = address.zone else { return plain.description }
        let index = zone.index ?? if_nametoindex(zone.description)
        return index == 0 ? plain.description : "\(plain)%\(index)"
    }
}
