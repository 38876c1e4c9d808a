// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel
internal import SystemSupport

/// The facts about interfaces that sysfs and nl80211 have and rtnetlink lacks: cellular modems and Wi-Fi.
package enum DeviceFacts {
    /// Whether sysfs describes an interface as a cellular modem (`DEVTYPE=wwan`).
    ///
    /// In a container, `/sys` can show the interfaces of another namespace, so the index in sysfs has to match.
    /// Without sysfs, the result is `false`.
    package static func isCellular(name: String, index: UInt32) -> Bool {
        guard !name.contains("/"), name != ".", name != ".." else { return false }
        let uevent = FileBytes.text(of: "/sys/class/net/\(name)/uevent", upTo: 4_096)
        return uevent.map { isCellular(uevent: $0, index: index) } ?? false
    }

    /// Parses the lines `KEY=value` of a uevent file.
    static func isCellular(uevent: String, index: UInt32) -> Bool {
        let lines = uevent.split(separator: "\n")
        return lines.contains("IFINDEX=\(index)") && lines.contains("DEVTYPE=wwan")
    }

    /// Lists the indices of the Wi-Fi interfaces in the calling thread's network namespace
    /// (NL80211_CMD_GET_INTERFACE); `nil` if the kernel has no nl80211.
    package static func wirelessIndexes() throws(ReachabilityError) -> Set<UInt32>? {
        try GenericFamily.nl80211.dump(
            NL80211_CMD_GET_INTERFACE.rawValue, "list the Wi-Fi interfaces", from: Set<UInt32>()
        ) { (indexes, message) throws(MalformedMessage) in
            if let index = try wirelessIndex(message) { indexes.insert(index) }
        }
    }

    /// Returns the signal of an interface's access point in dBm; `nil` without Wi-Fi or an access point, or if the
    /// driver does not report the signal.
    package static func signal(ofInterface index: UInt32) -> Int8? {
        let interface = Request.Attribute(Int(NL80211_ATTR_IFINDEX.rawValue), index)
        let signal = try? GenericFamily.nl80211.dump(
            NL80211_CMD_GET_STATION.rawValue, "ask for the signal", [interface], from: nil as Int8?
        ) { (signal, message) throws(MalformedMessage) in
            // The first station counts: a client has only one station, its access point.
            let station = try Self.signal(message)
            signal = signal ?? station
        }
        return signal ?? nil
    }

    /// Returns the name of the wireless network of an interface, as bytes; `nil` without one, and if the kernel has
    /// no nl80211.
    package static func ssid(ofInterface index: UInt32) throws(ReachabilityError) -> [UInt8]? {
        try GenericFamily.nl80211.dump(
            NL80211_CMD_GET_INTERFACE.rawValue, "ask for the wireless network", from: nil as [UInt8]?
        ) { (ssid, message) throws(MalformedMessage) in
            if try wirelessIndex(message) == index { ssid = try Self.ssid(message) }
        } ?? nil
    }

    /// Reads the network name from a message of the NL80211_CMD_GET_INTERFACE dump; `nil` if it has none.
    package static func ssid(_ message: NetlinkMessage) throws(MalformedMessage) -> [UInt8]? {
        let bytes = try message.parts(genlmsghdr.self).attributes[Int(NL80211_ATTR_SSID.rawValue)]
        return bytes.flatMap { $0.isEmpty ? nil : Array($0) }
    }

    /// Reads the interface's index from a message of the NL80211_CMD_GET_INTERFACE dump; `nil` for a P2P device,
    /// which has no interface.
    package static func wirelessIndex(_ message: NetlinkMessage) throws(MalformedMessage) -> UInt32? {
        try message.parts(genlmsghdr.self).attributes.value(Int(NL80211_ATTR_IFINDEX.rawValue))
    }

    /// Reads the signal from a message of the NL80211_CMD_GET_STATION dump; `nil` if the driver does not report it.
    package static func signal(_ message: NetlinkMessage) throws(MalformedMessage) -> Int8? {
        let station = try message.parts(genlmsghdr.self).attributes.nested(
            Int(NL80211_ATTR_STA_INFO.rawValue))
        return try station?.value(Int(NL80211_STA_INFO_SIGNAL.rawValue))
    }
}
