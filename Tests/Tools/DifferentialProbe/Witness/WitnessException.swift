// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel

/// The differences between a socket and the flags that are intended: the library says no where a socket sends.
///
/// `docs/flag-rules.md` describes them. Every other difference is a mistake.
enum WitnessException: String, CaseIterable {
    /// The interface is down or has no carrier: connect(2) succeeds, no packet leaves.
    case deadLink
    /// No route matches an IPv4 unicast target of a bound socket: the kernel looks for it by ARP.
    case boundWithoutRoute
    /// A loopback target of a socket that is bound to another interface: packets leave and never arrive.
    case boundLoopback

    /// Whether a difference is this exception.
    func explains(_ testimony: Testimony) -> Bool {
        guard case .flags(let flags) = testimony.flags, !flags.contains(.reachable), testimony.refusal == nil
        else {
            return false
        }
        let triple = testimony.triple
        let target = triple.target.unmapped
        switch self {
        case .deadLink:
            return ["interfaceDown", "noCarrier", "lowerInterfaceDown", "lowerNoCarrier"]
                .contains(testimony.reason)
        case .boundWithoutRoute:
            let isGroup = target.isMulticast || target.withoutZone == IPAddress(255, 255, 255, 255)
            return target.family == .v4 && triple.boundInterface != nil && !isGroup && !target.isLoopback
        case .boundLoopback:
            return target.isLoopback && triple.boundInterface.map { $0 != "lo" } ?? false
        }
    }
}
