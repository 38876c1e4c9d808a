// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel

/// What sysfs and nl80211 know about interfaces and rtnetlink does not: which are cellular modems, and which are Wi-Fi.
package enum DeviceFacts {
    /// Whether sysfs describes an interface as a cellular modem (`DEVTYPE=wwan`).
    ///
    /// In a container `/sys` can show the interfaces of another namespace, so the index there has to match. Without
    /// sysfs the result is `false`.
    package static func isCellular(name: String, index: UInt32) -> Bool {
        guard !name.contains("/"), name != ".", name != ".." else { return false }
        let descriptor = open("/sys/class/net/\(name)/uevent", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            return count > 0 && isCellular(uevent: buffer[..<count], index: index)
        }
    }

    /// Parses the lines `KEY=value` of a uevent file.
    static func isCellular(uevent: some Sequence<UInt8>, index: UInt32) -> Bool {
        let lines = String(decoding: Array(uevent), as: UTF8.self).split(separator: "\n")
        return lines.contains("IFINDEX=\(index)") && lines.contains("DEVTYPE=wwan")
    }

    /// Lists the indexes of the Wi-Fi interfaces of the calling thread's network namespace (NL80211_CMD_GET_INTERFACE);
    /// `nil` when the kernel has no nl80211.
    package static func wirelessIndexes() throws(ReachabilityError) -> Set<UInt32>? {
        var indexes: Set<UInt32> = []
        var fault = cnl_fault()
        let outcome = withUnsafeMutablePointer(to: &indexes) { pointer in
            cnl_wireless_list(
                { index, context in
                    context?.assumingMemoryBound(to: Set<UInt32>.self).pointee.insert(index)
                },
                pointer,
                &fault
            )
        }
        if outcome == CNL_ANSWERED { return indexes }
        if outcome == CNL_REFUSED, fault.number == ENOENT { return nil }
        throw ReachabilityError("list the Wi-Fi interfaces", fault)
    }

    /// Returns the signal of an interface in dBm; `nil` if it is not a Wi-Fi interface, has no access point, or does
    /// not report one.
    package static func signal(ofInterface index: UInt32) -> Int8? {
        var (signal, isKnown, fault) = (Int8(0), false, cnl_fault())
        let outcome = cnl_wireless_signal(index, &signal, &isKnown, &fault)
        return outcome == CNL_ANSWERED && isKnown ? signal : nil
    }
}
