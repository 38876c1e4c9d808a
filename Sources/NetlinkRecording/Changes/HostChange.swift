// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// A change of a network's configuration, in the words of ip(8).
///
/// ```
/// let change = try HostChange("route replace default via 192.0.2.1 dev eth0")
/// try host.make(change)
/// ```
package struct HostChange: Hashable, Sendable {
    /// A part of a change.
    package enum Action: Hashable, Sendable {
        case setUp(String)
        case setDown(String)
        case delete(String)
        case setMaster(String, String?)
        case setCarrier(String, Bool)
        case setMTU(String, Int32)
        /// Changes nothing, but the interface must exist.
        case find(String)
        case address(Verb, AddressRequest)
        case flushAddresses(AddressFlush)
        case route(Verb, RouteRequest)
        case flushRoutes(RouteFlush)
        case rule(RuleRequest, isAdded: Bool)
        case flushRules(IPAddress.Family)
        case setting(SettingRequest)
    }

    /// A setting of a family.
    package struct SettingRequest: Hashable, Sendable {
        package enum Name: String, Sendable {
            case forwarding
            case reversePathFilter = "rp_filter"
            case disableIPv6 = "disable_ipv6"
            case forceForwarding = "force_forwarding"

            /// The settings of a family that are known.
            static func all(_ family: IPAddress.Family) -> [Name] {
                family == .v4
                    ? [.forwarding, .reversePathFilter] : [.forwarding, .disableIPv6, .forceForwarding]
            }
        }

        let family: IPAddress.Family
        /// The name of an interface, `all` or `default`.
        let device: String
        let name: Name
        let value: UInt8
    }

    /// The change of a route or an address.
    ///
    /// The kernel's counterpart is in the NLM_F flags of RTM_NEWROUTE.
    package enum Verb: String, CaseIterable, Sendable {
        case add, append, prepend, change, replace, delete
    }

    /// The types of routes by their ip(8) words.
    package static let routeTypes: [String: RouteType] = [
        "unicast": .unicast, "blackhole": .blackhole, "unreachable": .unreachable, "prohibit": .prohibit,
        "throw": .throw,
    ]

    /// An address of a change.
    package struct AddressRequest: Hashable, Sendable {
        package var device = ""
        package var address: IPAddress
        package var peer: IPAddress?
        /// The prefix length; `nil` if none is given.
        package var length: Int?
        package var scope: RouteScope?
        /// Whether duplicate address detection is skipped.
        package var skipsDetection = false
        /// Whether the address gets no route to its subnet.
        package var hasNoPrefixRoute = false
        /// The broadcast address; `nil` if none is given.
        var broadcast: IPAddress?

        package init(device: String = "", address: IPAddress, peer: IPAddress? = nil, length: Int? = nil) {
            (self.device, self.address, self.peer, self.length) = (device, address, peer, length)
        }
    }

    /// A filter for the addresses to remove.
    ///
    /// `nil` matches all.
    package struct AddressFlush: Hashable, Sendable {
        var family: IPAddress.Family?
        var device: String?
        var scope: RouteScope?
        var prefix: IPPrefix?
    }

    /// A filter for the routes to remove.
    ///
    /// `nil` matches all.
    package struct RouteFlush: Hashable, Sendable {
        var family: IPAddress.Family
        var table: UInt32?
        var device: String?
        var gateway: IPPrefix?
        var origin: UInt8?
        var scope: RouteScope?
        var type: RouteType?
        var prefix: IPPrefix?
        /// Whether routes within the prefix also match.
        var isRoot = false
    }

    /// A route of a change.
    ///
    /// A property that is not given is `nil`.
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
        /// Whether the nexthops were given with the word `nexthop`.
        package var isMultipath = false
        /// The lifetime of an IPv6 route in ticks of 10 ms; `nil` for an unlimited one.
        package var lifetime: Int32?

        package init(destination: IPPrefix) {
            self.destination = destination
        }
    }

    /// A rule of a change.
    ///
    /// A property that is not given has its default.
    package struct RuleRequest: Hashable, Sendable {
        var rule: Rule
        var hasPriority = false
        var hasAction = false
        /// Whether a protocol is given, which the kernel also compares.
        var hasOrigin = false
    }

    /// The words of the change.
    package let text: String
    package let actions: [Action]
}

// MARK: - Refusals

/// Why a change is unknown, refused or unpredictable.
package struct KernelRefusal: Error, Hashable, Sendable {
    /// The errno of the kernel's refusal; `nil` if the simulation does not know what the kernel does.
    package let number: Int32?
    /// The cause of the refusal.
    package let message: String

    /// Creates a refusal of the kernel.
    init(_ number: Int32?, _ message: String) {
        self.number = number
        self.message = message
    }

    /// Creates the refusal of a change that the simulation does not support, or cannot predict.
    static func unknown(_ message: String) -> KernelRefusal {
        KernelRefusal(nil, message)
    }
}

/// Throws a refusal of the kernel unless a condition holds.
func require(
    _ condition: Bool, _ number: Int32, _ message: @autoclosure () -> String
) throws(KernelRefusal) {
    guard condition else { throw KernelRefusal(number, message()) }
}

/// Throws a refusal without an errno unless a condition holds.
func require(_ condition: Bool, _ message: @autoclosure () -> String) throws(KernelRefusal) {
    guard condition else { throw .unknown(message()) }
}
