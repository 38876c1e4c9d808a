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
            var prefix: Lenient<[UInt8]>?
            var length: Lenient<Int>?

            enum CodingKeys: String, CodingKey {
                case prefix = "Prefix"
                case length = "PrefixLength"
            }
        }

        struct Discovery: Decodable {
            var nat64: Lenient<[Lenient<Prefix>]>?

            enum CodingKeys: String, CodingKey {
                case nat64 = "PREF64"
            }
        }

        struct Interface: Decodable {
            var index: UInt32
            var name: String
            var hardwareAddress: Lenient<[UInt8]>?
            var ssid: Lenient<String>?
            var file: Lenient<String>?
            var servers: Lenient<[Lenient<Server>]>?
            var searchDomains: Lenient<[Lenient<Domain>]>?
            var routeDomains: Lenient<[Lenient<Domain>]>?
            var captivePortal: Lenient<String>?
            var discovery: Lenient<Discovery>?

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

        var interfaces: [Lenient<Interface>]?

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
        for part in description.interfaces ?? [] {
            // Without its index and its name it is not known which interface is meant.
            guard let link = reading.take(part, "an interface", \.value), let file = link.file else {
                continue
            }
            let address = reading.take(link.hardwareAddress, "\(link.name): HardwareAddress", \.value)
            guard let index = host.index(name: link.name, index: link.index, hardwareAddress: address ?? [])
            else { continue }
            read(link, file, index, &reading)
        }
        return reading
    }

    private static func read(
        _ link: Description.Interface, _ file: Lenient<String>, _ index: UInt32,
        _ reading: inout ManagerReading
    ) {
        func name(_ part: String) -> String { "\(link.name): \(part)" }
        let ssid = reading.take(link.ssid, name("SSID"), \.value)
        let connection = reading.take(file, name("NetworkFile"), \.value).map {
            ManagedInterface.Connection(name: $0, uuid: nil, ssid: ssid.map { Array($0.utf8) })
        }
        let portal = reading.take(link.captivePortal, name("CaptivePortal"), \.value)
        let servers = reading.take(
            list: reading.take(link.servers, name("DNS"), \.value) ?? [], name("DNS")
        ) { $0.value.flatMap { IPAddress(bytes: $0.address) } }
        func domains(_ part: Lenient<[Lenient<Description.Domain>]>?, _ isRouteOnly: Bool)
            -> [ManagedInterface.Domain]
        {
            let name = name(isRouteOnly ? "RouteDomains" : "SearchDomains")
            return reading.take(list: reading.take(part, name, \.value) ?? [], name) { domain in
                domain.value.map { ManagedInterface.Domain(name: $0.domain, isRouteOnly: isRouteOnly) }
            }
        }
        let all = domains(link.searchDomains, false) + domains(link.routeDomains, true)
        let discovery = reading.take(link.discovery, name("NDisc"), \.value)
        let prefixes = reading.take(discovery?.nat64, name("PREF64"), \.value).map { parts in
            reading.take(list: parts, name("PREF64")) { part -> IPPrefix? in
                guard let bytes = part.value?.prefix?.value, let length = part.value?.length?.value else {
                    return nil
                }
                return IPAddress(bytes: bytes).flatMap { IPPrefix($0, length: length) }
            }
        }
        reading.update(index, link.name) { interface in
            interface.connection = ManagerFact(connection, .networkd)
            interface.captivePortal = ManagerFact(portal, .networkd)
            interface.nameservers = .known(servers, .networkd)
            interface.domains = .known(all, .networkd)
            interface.nat64Prefixes = ManagerFact(prefixes, .networkd)
        }
    }
}
