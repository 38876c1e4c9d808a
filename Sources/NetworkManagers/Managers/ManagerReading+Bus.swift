// SPDX-License-Identifier: Apache-2.0

#if NetworkManagers

    internal import Glibc

    extension ManagerReading {
        /// Queries a manager over varlink if the manager supports it.
        ///
        /// Otherwise over D-Bus: NetworkManager, and older versions of systemd.
        static func of(
            _ name: ManagerName, _ host: HostInterfaces, hasBus: Bool,
            _ connect: () throws(ManagerError) -> SystemBus
        ) throws(ManagerError) -> ManagerReading {
            do throws(ManagerError) {
                switch name {
                case .networkManager: break
                case .networkd: return try NetworkdReader.read(host)
                case .resolved: return try ResolvedReader.read(host)
                }
            } catch {
                guard hasBus, error.state == .absent else { throw error }
            }
            guard hasBus else { throw ManagerError(number: ENOTCONN) }
            let bus = try connect()
            switch name {
            case .networkManager:
                let objects = try bus.call(
                    NetworkManagerReader.busName, "/org/freedesktop", "org.freedesktop.DBus.ObjectManager",
                    "GetManagedObjects")
                return try NetworkManagerReader.reading(of: objects, host)
            case .networkd:
                let reply = try bus.call(
                    NetworkdReader.busName, "/org/freedesktop/network1", "\(NetworkdReader.busName).Manager",
                    "Describe")
                guard let text = reply?.text else { throw .otherType }
                return try NetworkdReader.reading(of: try Varlink.decode(Array(text.utf8)), host)
            case .resolved:
                // Its properties contain only indices. A container with the host's bus would take them for its own.
                guard access(ResolvedReader.folder, F_OK) == 0 else { throw ManagerError(number: ENOENT) }
                let properties = try bus.call(
                    ResolvedReader.busName, "/org/freedesktop/resolve1", "org.freedesktop.DBus.Properties",
                    "GetAll",
                    ["\(ResolvedReader.busName).Manager"])
                return try ResolvedReader.reading(of: properties, host)
            }
        }
    }

#endif
