// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

/// systemd-networkd: `io.systemd.Network.Describe` over varlink, or the same JSON from the bus.
enum NetworkdReader {
    static let busName = "org.freedesktop.network1"
    static let socketPath = "/run/systemd/netif/io.systemd.Network"
    static let rules = [
        "type='signal',sender='\(busName)',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'"
    ]

    /// The parts of the description that are read.
    struct Description: Decodable {
        struct Server: Decodable {
            var address: [UInt8]

            enum CodingKeys: String, CodingKey {
                case address = "Address"
            }
        }

        struct Domain: Decodable {
            var domain: String

            enum CodingKeys: String, CodingKey {
                case domain = "Domain"
            }
        }

        struct Prefix: Decodable {
            var prefix: [UInt8]?
            var length: Int

            enum CodingKeys: String, CodingKey {
                case prefix = "Prefix"
                case length = "PrefixLength"
            }
        }

        struct Discovery: Decodable {
            var nat64: [Prefix]?

            enum CodingKeys: String, CodingKey {
                case nat64 = "PREF64"
            }
        }

        struct Interface: Decodable {
            var index: UInt32
            var name: String
            var hardwareAddress: [UInt8]?
            var ssid: String?
            var file: String?
            var servers: [Server]?
            var searchDomains: [Domain]?
            var routeDomains: [Domain]?
            var captivePortal: String?
            var discovery: Discovery?

            enum CodingKeys: String, CodingKey {
                case index = "Index"
                case name = "Name"
                case hardwareAddress = "HardwareAddress"
                case ssid = "SSID"
                case file = "NetworkFile"
                case servers = "DNS"
                case searchDomains = "SearchDomains"
                case routeDomains = "RouteDomains"
                case captivePortal = "CaptivePortal"
                case discovery = "NDisc"
            }
        }

        var interfaces: [Interface]?

        enum CodingKeys: String, CodingKey {
            case interfaces = "Interfaces"
        }
    }

    /// Asks over varlink.
    static func read(
        at path: String = socketPath, _ host: HostInterfaces
    ) throws(ManagerError) -> ManagerReading {
        reading(of: try Varlink.call("io.systemd.Network.Describe", at: path, as: Description.self), host)
    }

    /// What a description says about the interfaces that systemd-networkd manages.
    static func reading(of description: Description, _ host: HostInterfaces) -> ManagerReading {
        var reading = ManagerReading(.answers(version: nil))
        for link in description.interfaces ?? [] {
            guard let file = link.file,
                let index = host.index(
                    name: link.name, index: link.index, hardwareAddress: link.hardwareAddress ?? [])
            else { continue }
            reading.update(index, link.name) { read(link, file, &$0) }
        }
        return reading
    }

    private static func read(
        _ link: Description.Interface, _ file: String, _ interface: inout ManagedInterface
    ) {
        interface.connection = .known(
            ManagedInterface.Connection(name: file, uuid: nil, ssid: link.ssid.map { Array($0.utf8) }),
            .networkd)
        interface.captivePortal = ManagerFact(link.captivePortal, .networkd)
        interface.nameservers = .known(
            (link.servers ?? []).compactMap { IPAddress(bytes: $0.address) }, .networkd)
        let domains =
            (link.searchDomains ?? []).map { ManagedInterface.Domain(name: $0.domain, isRouteOnly: false) }
            + (link.routeDomains ?? []).map { ManagedInterface.Domain(name: $0.domain, isRouteOnly: true) }
        interface.domains = .known(domains, .networkd)
        interface.nat64Prefixes = ManagerFact(
            link.discovery?.nat64?.compactMap { prefix in
                (prefix.prefix.flatMap { IPAddress(bytes: $0) }).flatMap {
                    IPPrefix($0, length: prefix.length)
                }
            }, .networkd)
    }
}
