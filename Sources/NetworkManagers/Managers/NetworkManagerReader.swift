// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

/// Reads the facts of NetworkManager over D-Bus: all of its objects in one answer.
///
/// The cost and the connectivity are those of each device. NetworkManager's global values are a guess if the default
/// routes use several interfaces.
enum NetworkManagerReader {
    static let busName = "org.freedesktop.NetworkManager"

    /// The signals after which facts can have changed.
    ///
    /// Signals of access points are excluded, because they are very frequent.
    static let rules = ["", ".Device", ".Connection.Active", ".IP4Config", ".IP6Config"].map {
        "type='signal',sender='\(busName)',interface='org.freedesktop.DBus.Properties',"
            + "member='PropertiesChanged',arg0='\(busName)\($0)'"
    }

    /// Reads the facts from the objects.
    ///
    /// - Parameters:
    ///   - objects: A dictionary by paths, of dictionaries by interfaces, of dictionaries by properties.
    ///   - host: The interfaces of this network namespace.
    /// - Returns: The facts.
    /// - Throws: An error if the answer has another type.
    static func reading(of objects: BusValue?, _ host: HostInterfaces) throws(ManagerError) -> ManagerReading
    {
        guard let objects, let all = objects.dictionary else { throw .otherType }
        let version = objects["/org/freedesktop/NetworkManager"]?[busName]?["Version"]?.text
        var reading = ManagerReading(.answers(version: version))
        var devices: [UInt32: (name: String, rank: Rank, properties: BusValue)] = [:]
        for (path, object) in all.sorted(by: { $0.key < $1.key }) {
            guard let device = object["\(busName).Device"],
                let hardware = reading.take(device["Interface"], "\(path): Interface", \.text)
            else { continue }
            // Packets of a modem use another interface than the one that controls the modem.
            let ip = reading.take(device["IpInterface"], "\(hardware): IpInterface", \.text)
            let name = ip.flatMap { $0.isEmpty ? nil : $0 } ?? hardware
            let address = name == hardware ? device["HwAddress"]?.text ?? "" : ""
            guard let index = host.index(name: name, hardwareAddress: [UInt8](hardwareAddress: address))
            else {
                continue
            }
            let rank = Rank(device, path)
            if devices[index].map({ $0.rank < rank }) ?? true { devices[index] = (name, rank, device) }
        }
        for (index, device) in devices.sorted(by: { $0.key < $1.key }) {
            read(device.properties, objects, index, device.name, &reading)
        }
        return reading
    }

    /// The rank for choosing among several devices with one name: first a device with a connection, then one that
    /// works, then the newest one, which has the highest number.
    private struct Rank: Comparable {
        private let order: [Int64]

        init(_ device: BusValue, _ path: String) {
            let connection = device["ActiveConnection"]?.text ?? "/"
            // NM_DEVICE_STATE_ACTIVATED. A device that fails or is being deactivated has a higher state.
            let state = device["State"]?.number ?? 0
            let number = path.split(separator: "/").last.flatMap { Int64($0) } ?? 0
            order = [connection == "/" ? 0 : 1, state <= 100 ? state : 0, number]
        }

        static func < (left: Rank, right: Rank) -> Bool {
            left.order.lexicographicallyPrecedes(right.order)
        }
    }

    private static func read(
        _ device: BusValue, _ objects: BusValue, _ index: UInt32, _ name: String,
        _ reading: inout ManagerReading
    ) {
        func object(_ value: BusValue?, _ kind: String) -> BusValue? {
            value?.text.flatMap { objects[$0]?["\(busName).\(kind)"] }
        }
        func number(_ property: String) -> Int64? {
            reading.take(device[property], "\(name): \(property)", \.number)
        }
        let metering = number("Metered").flatMap { ManagedInterface.Metering.numbered[$0] }
        let connectivities = ["Ip4Connectivity", "Ip6Connectivity"].compactMap {
            number($0).flatMap { ManagedInterface.Connectivity.numbered[$0] }
        }
        var connection: ManagedInterface.Connection?
        if let active = object(device["ActiveConnection"], "Connection.Active") {
            let point = object(active["SpecificObject"], "AccessPoint")
            let ssid = reading.take(point?["Ssid"], "\(name): Ssid", \.bytes)
            connection = ManagedInterface.Connection(
                name: reading.take(active["Id"], "\(name): Id", \.text) ?? "",
                uuid: reading.take(active["Uuid"], "\(name): Uuid", \.text),
                ssid: ssid.flatMap { $0.isEmpty ? nil : $0 })
        }
        let configurations = [
            object(device["Ip4Config"], "IP4Config"), object(device["Ip6Config"], "IP6Config"),
        ].compactMap(\.self)
        let servers = configurations.flatMap { nameservers($0, name, &reading) }
        var seen: Set<String> = []
        let domains = configurations.flatMap { configuration in
            ["Searches", "Domains"].flatMap { property in
                let list = reading.take(configuration[property], "\(name): \(property)", \.list) ?? []
                return reading.take(list: list, "\(name): \(property)", \.text)
            }
        }
        .filter { seen.insert($0).inserted }
        reading.update(index, name) { interface in
            interface.metering = ManagerFact(metering, .networkManager)
            interface.connectivity = ManagerFact(connectivities.max { $0.rank < $1.rank }, .networkManager)
            interface.connection = ManagerFact(connection, .networkManager)
            guard !configurations.isEmpty else { return }
            interface.nameservers = .known(servers, .networkManager)
            interface.domains = .known([ManagedInterface.Domain](texts: domains), .networkManager)
        }
    }

    /// The name servers: IPv4 in `NameserverData`, IPv6 as bytes in `Nameservers`.
    private static func nameservers(
        _ configuration: BusValue, _ name: String, _ reading: inout ManagerReading
    ) -> [IPAddress] {
        if let data = reading.take(configuration["NameserverData"], "\(name): NameserverData", \.list) {
            return reading.take(list: data, "\(name): NameserverData") {
                $0["address"]?.text.flatMap { IPAddress($0) }
            }
        }
        // In an IPv4 configuration, these are numbers.
        let list = configuration["Nameservers"]?.list?.filter { $0.number == nil } ?? []
        return reading.take(list: list, "\(name): Nameservers") { $0.bytes.flatMap { IPAddress(bytes: $0) } }
    }
}

extension ManagedInterface.Metering {
    /// The values of NMMetered, without that for unknown.
    static let numbered: [Int64: Self] = [
        1: .metered, 2: .unmetered, 3: .probablyMetered, 4: .probablyUnmetered,
    ]
}

extension ManagedInterface.Connectivity {
    /// The values of NMConnectivityState, without that for unknown.
    static let numbered: [Int64: Self] = [1: .none, 2: .portal, 3: .limited, 4: .full]

    /// The position in the order from the worst.
    var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
