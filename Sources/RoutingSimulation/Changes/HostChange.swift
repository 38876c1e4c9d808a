// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A change of a network's configuration, in the words of ip(8).
///
/// ```swift
/// let change = try HostChange("route replace default via 192.0.2.1 dev eth0")
/// try host.make(change)
/// ```
package struct HostChange: Hashable, Sendable {
    /// What is changed.
    enum Action: Hashable, Sendable {
        case setUp(String)
        case setDown(String)
        case delete(String)
        case setMaster(String, String?)
        case setCarrier(String, Bool)
        case address(AddressRequest, isAdded: Bool)
        case route(Verb, RouteRequest)
        case rule(RuleRequest, isAdded: Bool)
    }

    /// What happens with a route; the kernel's counterpart is in the NLM_F flags of RTM_NEWROUTE.
    enum Verb: String, CaseIterable, Sendable {
        case add, append, prepend, change, replace, delete
    }

    /// An address of a change.
    struct AddressRequest: Hashable, Sendable {
        var device = ""
        var address: IPAddress
        var peer: IPAddress?
        /// The length of the prefix; `nil` where none is given.
        var length: Int?
        var scope: RouteScope?
        /// Whether there is no duplicate detection.
        var skipsDetection = false
    }

    /// A route of a change; what is `nil` is not given.
    struct RouteRequest: Hashable, Sendable {
        struct Way: Hashable, Sendable {
            var device: String?
            var gateway: IPAddress?
            var weight: UInt16 = 1
            var isOnLink = false
        }

        var destination: IPPrefix
        var type: RouteType?
        var table: UInt32?
        var metric: UInt32?
        var tos: UInt8 = 0
        var preferredSource: IPAddress?
        var nexthopID: UInt32 = 0
        var origin: UInt8?
        var ways: [Way] = []
        /// Whether the ways were given with the word nexthop.
        var isMultipath = false
    }

    /// A rule of a change; what is at its default is not given.
    struct RuleRequest: Hashable, Sendable {
        var rule: Rule
        var hasPriority = false
        var hasAction = false
    }

    /// The words as given.
    package let text: String
    let actions: [Action]
}
