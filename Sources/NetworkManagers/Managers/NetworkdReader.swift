// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

/// Reads the facts of systemd-networkd: `io.systemd.Network.Describe` over varlink, or the same JSON over D-Bus.
enum NetworkdReader {
    static let busName = "org.freedesktop.network1"
    static let socketPath = "/run/systemd/netif/io.systemd.Network"
    static let rules = [
        "type='signal',sender='\(busName)',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'"
    ]

    /// Asks over varlink.
    static func read(
        at path: String = socketPath, _ host: HostInterfaces
    ) throws(ManagerError) -> ManagerReading {
        try reading(of: try Varlink.call("io.systemd.Network.Describe", at: path), host)
    }

    /// What a description says about the interfaces that systemd-networkd manages.
    static func reading(
        of description: BusValue, _ host: HostInterfaces
    ) throws(ManagerError) -> ManagerReading {
        guard let members = description.dictionary, let links = members["Interfaces", default: .list([])].list
        else { throw .otherType }
        var reading = ManagerReading(.answers(version: nil))
        for link in links {
            // Without its index and its name it is not known which interface is meant.
            let named = reading.take(link, "an interface") { $0.interface(name: "Name", index: "Index") }
            guard let (name, number) = named, link["NetworkFile"] != nil else { continue }
            let address = reading.take(link["HardwareAddress"], "\(name): HardwareAddress", \.bytes)
            guard let index = host.index(name: name, index: number, hardwareAddress: address ?? []) else {
                continue
            }
            read(link, name, index, &reading)
        }
        return reading
    }

    private static func read(
        _ link: BusValue, _ name: String, _ index: UInt32, _ reading: inout ManagerReading
    ) {
        func take<Value>(_ key: String, _ read: (BusValue) -> Value?) -> Value? {
            reading.take(link[key], "\(name): \(key)", read)
        }
        func list<Value>(_ key: String, _ read: (BusValue) -> Value?) -> [Value] {
            reading.take(list: take(key, \.list) ?? [], "\(name): \(key)", read)
        }
        func domains(_ key: String, isRouteOnly: Bool) -> [ManagedInterface.Domain] {
            list(key) { domain in
                domain["Domain"]?.text.map { ManagedInterface.Domain(name: $0, isRouteOnly: isRouteOnly) }
            }
        }
        let ssid = take("SSID", \.text)
        let connection = take("NetworkFile", \.text).map {
            ManagedInterface.Connection(name: $0, uuid: nil, ssid: ssid.map { Array($0.utf8) })
        }
        let portal = take("CaptivePortal", \.text)
        let servers = list("DNS") { $0["Address"]?.bytes.flatMap { IPAddress(bytes: $0) } }
        let all =
            domains("SearchDomains", isRouteOnly: false) + domains("RouteDomains", isRouteOnly: true)
        let discovery = take("NDisc", \.dictionary)
        let prefixes = reading.take(discovery?["PREF64"], "\(name): PREF64", \.list).map { parts in
            reading.take(list: parts, "\(name): PREF64") { part -> IPPrefix? in
                guard let bytes = part["Prefix"]?.bytes, let address = IPAddress(bytes: bytes) else {
                    return nil
                }
                return part["PrefixLength"]?.number.flatMap { IPPrefix(address, length: Int($0)) }
            }
        }
        reading.update(index, name) { interface in
            interface.connection = ManagerFact(connection, .networkd)
            interface.captivePortal = ManagerFact(portal, .networkd)
            interface.nameservers = .known(servers, .networkd)
            interface.domains = .known(all, .networkd)
            interface.nat64Prefixes = ManagerFact(prefixes, .networkd)
        }
    }
}
