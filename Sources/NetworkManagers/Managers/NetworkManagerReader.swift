// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

/// NetworkManager, over D-Bus: all of its objects in one answer.
///
/// The cost and the connectivity are those of each device, and not NetworkManager's own, which are a guess where the
/// default routes lead through several interfaces.
enum NetworkManagerReader {
    static let busName = "org.freedesktop.NetworkManager"

    /// The signals after which something can have changed.
    ///
    /// Access points, whose signals change all the time, are left out.
    static let rules = ["", ".Device", ".Connection.Active", ".IP4Config", ".IP6Config"].map {
        "type='signal',sender='\(busName)',interface='org.freedesktop.DBus.Properties',"
            + "member='PropertiesChanged',arg0='\(busName)\($0)'"
    }

    /// What the objects say.
    ///
    /// - Parameters:
    ///   - objects: A dictionary by paths, of dictionaries by interfaces, of dictionaries by properties.
    ///   - host: The interfaces of this network namespace.
    /// - Returns: The facts.
    static func reading(of objects: BusValue, _ host: HostInterfaces) -> ManagerReading {
        let version = objects["/org/freedesktop/NetworkManager"]?[busName]?["Version"]?.text
        var reading = ManagerReading(.answers(version: version))
        for object in objects.dictionary?.values ?? [:].values {
            guard let device = object["\(busName).Device"], let hardware = device["Interface"]?.text
            else {
                continue
            }
            // Packets of a modem take another interface than the one that is controlled.
            let name = device["IpInterface"]?.text.flatMap { $0.isEmpty ? nil : $0 } ?? hardware
            let address = name == hardware ? device["HwAddress"]?.text ?? "" : ""
            guard let index = host.index(name: name, hardwareAddress: [UInt8](hardwareAddress: address))
            else {
                continue
            }
            reading.update(index, name) { read(device, objects, &$0) }
        }
        return reading
    }

    private static func read(_ device: BusValue, _ objects: BusValue, _ interface: inout ManagedInterface) {
        func object(_ value: BusValue?, _ kind: String) -> BusValue? {
            value?.text.flatMap { objects[$0]?["\(busName).\(kind)"] }
        }
        interface.metering = ManagerFact(
            device["Metered"]?.number.flatMap(ManagedInterface.Metering.init(number:)), .networkManager)
        let connectivities = ["Ip4Connectivity", "Ip6Connectivity"].compactMap {
            device[$0]?.number.flatMap(ManagedInterface.Connectivity.init(number:))
        }
        interface.connectivity = ManagerFact(connectivities.max { $0.rank < $1.rank }, .networkManager)
        if let active = object(device["ActiveConnection"], "Connection.Active") {
            let point = object(active["SpecificObject"], "AccessPoint")
            interface.connection = .known(
                ManagedInterface.Connection(
                    name: active["Id"]?.text ?? "", uuid: active["Uuid"]?.text,
                    ssid: point?["Ssid"]?.bytes.flatMap { $0.isEmpty ? nil : $0 }),
                .networkManager)
        }
        let configurations = [
            object(device["Ip4Config"], "IP4Config"), object(device["Ip6Config"], "IP6Config"),
        ].compactMap(\.self)
        guard !configurations.isEmpty else { return }
        interface.nameservers = .known(configurations.flatMap(nameservers), .networkManager)
        let domains = configurations.flatMap { configuration in
            ["Searches", "Domains"].flatMap { configuration[$0]?.list?.compactMap(\.text) ?? [] }
        }
        var seen: Set<String> = []
        interface.domains = .known(
            [ManagedInterface.Domain](texts: domains.filter { seen.insert($0).inserted }), .networkManager
        )
    }

    /// The name servers: IPv4 in `NameserverData`, IPv6 as bytes in `Nameservers`.
    private static func nameservers(_ configuration: BusValue) -> [IPAddress] {
        if let data = configuration["NameserverData"]?.list {
            return data.compactMap { $0["address"]?.text.flatMap { IPAddress($0) } }
        }
        return configuration["Nameservers"]?.list?.compactMap {
            $0.bytes.flatMap { IPAddress(bytes: $0) }
        } ?? []
    }
}

extension ManagedInterface.Metering {
    /// NMMetered; `nil` for unknown.
    init?(number: Int64) {
        switch number {
        case 1: self = .metered
        case 2: self = .unmetered
        case 3: self = .probablyMetered
        case 4: self = .probablyUnmetered
        default: return nil
        }
    }
}

extension ManagedInterface.Connectivity {
    /// NMConnectivityState; `nil` for unknown.
    init?(number: Int64) {
        switch number {
        case 1: self = .none
        case 2: self = .portal
        case 3: self = .limited
        case 4: self = .full
        default: return nil
        }
    }

    /// The place in the order from the worst.
    var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
