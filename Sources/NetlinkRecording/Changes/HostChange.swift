// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// A change of a network's configuration, in the words of ip(8).
///
/// ```swift
/// let change = try HostChange("route replace default via 192.0.2.1 dev eth0")
/// try host.make(change)
/// ```
package struct HostChange: Hashable, Sendable {
    /// What is changed.
    package enum Action: Hashable, Sendable {
        case setUp(String)
        case setDown(String)
        case delete(String)
        case setMaster(String, String?)
        case setCarrier(String, Bool)
        case setMTU(String, Int32)
        /// Nothing, but the interface must be there.
        case find(String)
        case address(Verb, AddressRequest)
        case flushAddresses(AddressFlush)
        case route(Verb, RouteRequest)
        case flushRoutes(RouteFlush)
        case rule(RuleRequest, isAdded: Bool)
        case flushRules(IPAddress.Family)
    }

    /// What happens with a route or an address; the kernel's counterpart is in the NLM_F flags of RTM_NEWROUTE.
    package enum Verb: String, CaseIterable, Sendable {
        case add, append, prepend, change, replace, delete
    }

    /// The types of routes by their words.
    package static let routeTypes: [String: RouteType] = [
        "unicast": .unicast, "blackhole": .blackhole, "unreachable": .unreachable, "prohibit": .prohibit,
        "throw": .throw,
    ]

    /// An address of a change.
    package struct AddressRequest: Hashable, Sendable {
        package var device = ""
        package var address: IPAddress
        package var peer: IPAddress?
        /// The length of the prefix; `nil` where none is given.
        package var length: Int?
        package var scope: RouteScope?
        /// Whether there is no duplicate detection.
        package var skipsDetection = false
        /// Whether it has no route to its subnet.
        package var hasNoPrefixRoute = false
        /// The broadcast address that is given, if any.
        var broadcast: IPAddress?

        package init(device: String = "", address: IPAddress, peer: IPAddress? = nil, length: Int? = nil) {
            (self.device, self.address, self.peer, self.length) = (device, address, peer, length)
        }
    }

    /// Which addresses are removed; what is `nil` is not given.
    package struct AddressFlush: Hashable, Sendable {
        var family: IPAddress.Family?
        var device: String?
        var scope: RouteScope?
        var prefix: IPPrefix?
    }

    /// Which routes are removed; what is `nil` is not given.
    package struct RouteFlush: Hashable, Sendable {
        var family: IPAddress.Family
        var table: UInt32?
        var device: String?
        var gateway: IPPrefix?
        var origin: UInt8?
        var scope: RouteScope?
        var type: RouteType?
        var prefix: IPPrefix?
        /// Whether routes within the prefix match, too.
        var isRoot = false
    }

    /// A route of a change; what is `nil` is not given.
    package struct RouteRequest: Hashable, Sendable {
        package struct Nexthop: Hashable, Sendable {
            package var device: String?
            package var gateway: IPAddress?
            package var weight: UInt16 = 1
            package var isOnLink = false

            package init() {}
        }

        package var destination: IPPrefix
        package var type: RouteType?
        package var table: UInt32?
        package var metric: UInt32?
        package var tos: UInt8 = 0
        package var preferredSource: IPAddress?
        package var nexthopID: UInt32 = 0
        package var origin: UInt8?
        var scope: RouteScope?
        var preference: RouterPreference?
        package var nexthops: [Nexthop] = []
        /// Whether the nexthops were given with the word nexthop.
        package var isMultipath = false
        /// The lifetime of an IPv6 route in ticks of 10 ms; `nil` for ever.
        package var lifetime: Int32?

        package init(destination: IPPrefix) {
            self.destination = destination
        }
    }

    /// A rule of a change; what is at its default is not given.
    package struct RuleRequest: Hashable, Sendable {
        var rule: Rule
        var hasPriority = false
        var hasAction = false
        /// Whether a protocol is given, which the kernel compares too.
        var hasOrigin = false
    }

    /// The words as given.
    package let text: String
    package let actions: [Action]
}

// MARK: - Refusals

/// Why a change is not known, or cannot be made or predicted.
package struct KernelRefusal: Error, Hashable, Sendable {
    /// The errno of the kernel's refusal; `nil` where the simulation does not know what the kernel does.
    package let number: Int32?
    /// What is wrong.
    package let message: String

    /// The kernel refuses the change.
    init(_ number: Int32?, _ message: String) {
        self.number = number
        self.message = message
    }

    /// The simulation does not know the change, or what it does.
    static func unknown(_ message: String) -> KernelRefusal {
        KernelRefusal(nil, message)
    }
}
