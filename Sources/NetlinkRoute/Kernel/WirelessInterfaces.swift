// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
internal import RoutingModel

/// The Wi-Fi interfaces of the calling thread's network namespace (NL80211_CMD_GET_INTERFACE).
package enum WirelessInterfaces {
    /// Lists the indexes of the interfaces; `nil` when the kernel has no nl80211.
    static func list() throws(RoutingFault) -> Set<UInt32>? {
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
        throw RoutingFault("list the Wi-Fi interfaces", fault)
    }

    /// Returns the indexes of the interfaces, none when the kernel has no nl80211; `nil` when the list cannot be
    /// read.
    static func indexes() -> Set<UInt32>? {
        do {
            return try list() ?? []
        } catch {
            return nil
        }
    }

    /// Returns the signal of an interface in dBm; `nil` if it is not a Wi-Fi interface, has no access point, or does
    /// not report one.
    package static func signal(ofInterface index: UInt32) -> Int8? {
        var (signal, isKnown, fault) = (Int8(0), false, cnl_fault())
        let outcome = cnl_wireless_signal(index, &signal, &isKnown, &fault)
        return outcome == CNL_ANSWERED && isKnown ? signal : nil
    }
}
