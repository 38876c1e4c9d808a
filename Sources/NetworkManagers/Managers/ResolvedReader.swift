// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkReachability

/// systemd-resolved: `io.systemd.Resolve.DumpDNSConfiguration` over varlink, or properties of the bus.
enum ResolvedReader {
    static let busName = "org.freedesktop.resolve1"
    /// Where systemd-resolved keeps its files while it runs.
    static let folder = "/run/systemd/resolve"
    static let socketPath = "\(folder)/io.systemd.Resolve"
    static let rules = [
        "type='signal',sender='\(busName)',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'"
    ]

    /// The parts of the answer that are read.
    struct Dump: Decodable {
        struct Server: Decodable {
            var address: [UInt8]
        }

        struct Domain: Decodable {
            var name: String
            var routeOnly: Bool?
        }

        struct Configuration: Decodable {
            var ifname: String?
            var ifindex: UInt32?
            var servers: [Server]?
            var searchDomains: [Domain]?
        }

        var configuration: [Configuration]
    }

    /// Asks over varlink.
    static func read(
        at path: String = socketPath, _ host: HostInterfaces
    ) throws(ManagerError) -> ManagerReading {
        reading(
            of: try Varlink.call("io.systemd.Resolve.DumpDNSConfiguration", at: path, as: Dump.self), host)
    }

    /// What the dump says about interfaces; the configuration of the host as a whole has none.
    static func reading(of dump: Dump, _ host: HostInterfaces) -> ManagerReading {
        var reading = ManagerReading(.answers(version: nil))
        for configuration in dump.configuration {
            guard let name = configuration.ifname, let number = configuration.ifindex,
                let index = host.index(name: name, index: number)
            else { continue }
            let servers = (configuration.servers ?? []).compactMap { IPAddress(bytes: $0.address) }
            let domains = (configuration.searchDomains ?? []).map {
                ManagedInterface.Domain(name: $0.name, isRouteOnly: $0.routeOnly ?? false)
            }
            reading.update(index, name, servers, domains)
        }
        return reading
    }

    /// What the properties of the manager say.
    ///
    /// `DNS` has the index, family and bytes of each server, and `Domains` the index and name of each domain, and
    /// whether it only routes. The index is 0 for the host as a whole. No property has the name of an interface.
    static func reading(of properties: BusValue, _ host: HostInterfaces) -> ManagerReading {
        var servers: [UInt32: [IPAddress]] = [:]
        for entry in properties["DNS"]?.list?.compactMap(\.list) ?? [] where entry.count == 3 {
            guard let index = entry[0].number.flatMap({ UInt32(exactly: $0) }),
                let address = entry[2].bytes.flatMap({ IPAddress(bytes: $0) })
            else { continue }
            servers[index, default: []].append(address)
        }
        var domains: [UInt32: [ManagedInterface.Domain]] = [:]
        for entry in properties["Domains"]?.list?.compactMap(\.list) ?? [] where entry.count == 3 {
            guard let index = entry[0].number.flatMap({ UInt32(exactly: $0) }), let name = entry[1].text
            else {
                continue
            }
            domains[index, default: []].append(
                ManagedInterface.Domain(name: name, isRouteOnly: entry[2].number == 1))
        }
        var reading = ManagerReading(.answers(version: nil))
        for (name, entry) in host.byName where servers[entry.index] != nil || domains[entry.index] != nil {
            reading.update(entry.index, name, servers[entry.index] ?? [], domains[entry.index] ?? [])
        }
        return reading
    }
}

extension ManagerReading {
    fileprivate mutating func update(
        _ index: UInt32, _ name: String, _ servers: [IPAddress], _ domains: [ManagedInterface.Domain]
    ) {
        // Without servers, those of the manager count.
        guard !servers.isEmpty || !domains.isEmpty else { return }
        update(index, name) { interface in
            interface.nameservers = .known(servers, .resolved)
            interface.domains = .known(domains, .resolved)
        }
    }
}
