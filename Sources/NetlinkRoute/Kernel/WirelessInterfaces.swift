// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc

/// The Wi-Fi interfaces of this network namespace.
///
/// The kernel's counterpart is NL80211_CMD_GET_INTERFACE over generic netlink.
enum WirelessInterfaces {
    /// The indexes of the interfaces that nl80211 lists, none where the kernel has no Wi-Fi; `nil` where it cannot
    /// be told.
    static func indexes() -> Set<UInt32>? {
        var indexes: Set<UInt32> = []
        var fault = cnl_fault()
        let outcome = withUnsafeMutablePointer(to: &indexes) { pointer in
            cnl_wireless_list(
                { interface, context in
                    context?.assumingMemoryBound(to: Set<UInt32>.self).pointee.insert(interface.pointee.index)
                },
                pointer,
                &fault
            )
        }
        if outcome == CNL_REFUSED, fault.number == ENOENT { return [] }
        return outcome == CNL_ANSWERED ? indexes : nil
    }
}
