// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkReachability

/// Reads the facts of systemd-resolved: `io.systemd.Resolve.DumpDNSConfiguration` over varlink, or D-Bus properties.
enum ResolvedReader {
    static let busName = "org.freedesktop.resolve1"
    /// The folder of systemd-resolved's files while it runs.
    static let folder = "/run/systemd/resolve"
    static let socketPath = "\(folder)/io.systemd.Resolve"
    static let rules = [
        "type='signal',sender='\(busName)',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'"
    ]

    /// Asks over varlink.
    static func read(
        at path: String = socketPath, _ host: HostInterfaces
    ) throws(ManagerError) -> ManagerReading {
        try reading(ofDump: try Varlink.call("io.systemd.Resolve.DumpDNSConfiguration", at: path), host)
    }

    /// What the dump says about interfaces; the configuration of the host as a whole has none.
    static func reading(
        ofDump dump: BusValue, _ host: HostInterfaces
    ) throws(ManagerError) -> ManagerReading {
        guard let configurations = dump["configuration"]?.list else { throw .otherType }
        var reading = ManagerReading(.answers(version: nil))
        for configuration in configurations {
            if let members = configuration.dictionary, members["ifname"] == nil || members["ifindex"] == nil {
                continue
            }
            let named = reading.take(configuration, "an interface") {
                $0.interface(name: "ifname", index: "ifindex")
            }
            guard let (name, number) = named, let index = host.index(name: name, index: number) else {
                continue
            }
            func list<Value>(_ key: String, _ read: (BusValue) -> Value?) -> [Value] {
                let all = reading.take(configuration[key], "\(name): \(key)", \.list) ?? []
                return reading.take(list: all, "\(name): \(key)", read)
            }
            let servers = list("servers") { $0["address"]?.bytes.flatMap { IPAddress(bytes: $0) } }
            let domains = list("searchDomains") { domain in
                domain["name"]?.text.map {
                    ManagedInterface.Domain(name: $0, isRouteOnly: domain["routeOnly"]?.number == 1)
                }
            }
            reading.update(index, name, servers, domains)
        }
        return reading
    }

    /// Reads the facts from the properties of the manager.
    ///
    /// `DNS` has the index, family and bytes of each server. `Domains` has the index and name of each domain, and
    /// whether it is route-only. The index is 0 for the whole host. No property has the name of an interface.
    static func reading(
        of properties: BusValue?, _ host: HostInterfaces
    ) throws(ManagerError) -> ManagerReading {
        guard let properties = properties?.dictionary else { throw .otherType }
        var reading = ManagerReading(.answers(version: nil))
        let parts = ["DNS", "Domains"].map { name in
            reading.take(properties[name], name, \.list) ?? []
        }
        var servers: [UInt32: [IPAddress]] = [:]
        for (index, address) in reading.take(list: parts[0], "DNS", Self.server) {
            servers[index, default: []].append(address)
        }
        var domains: [UInt32: [ManagedInterface.Domain]] = [:]
        for (index, domain) in reading.take(list: parts[1], "Domains", Self.domain) {
            domains[index, default: []].append(domain)
        }
        for (name, entry) in host.byName where servers[entry.index] != nil || domains[entry.index] != nil {
            reading.update(entry.index, name, servers[entry.index] ?? [], domains[entry.index] ?? [])
        }
        return reading
    }
}

extension ResolvedReader {
    private static func server(_ entry: BusValue) -> (UInt32, IPAddress)? {
        guard let (index, parts) = parts(entry), let bytes = parts[2].bytes,
            let address = IPAddress(bytes: bytes)
        else { return nil }
        return (index, address)
    }

    private static func domain(_ entry: BusValue) -> (UInt32, ManagedInterface.Domain)? {
        guard let (index, parts) = parts(entry), let name = parts[1].text else { return nil }
        return (index, ManagedInterface.Domain(name: name, isRouteOnly: parts[2].number == 1))
    }

    /// The parts of an entry, whose first part is an index.
    private static func parts(_ entry: BusValue) -> (UInt32, [BusValue])? {
        guard let parts = entry.list, parts.count == 3,
            let index = parts[0].number.flatMap({ UInt32(exactly: $0) })
        else { return nil }
        return (index, parts)
    }
}

extension ManagerReading {
    fileprivate mutating func update(
        _ index: UInt32, _ name: String, _ servers: [IPAddress], _ domains: [ManagedInterface.Domain]
    ) {
        // Without servers, those of the other manager apply.
        guard !servers.isEmpty || !domains.isEmpty else { return }
        update(index, name) { interface in
            interface.nameservers = .known(servers, .resolved)
            interface.domains = .known(domains, .resolved)
        }
    }
}
