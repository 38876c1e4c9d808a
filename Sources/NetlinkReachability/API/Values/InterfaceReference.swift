// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// An interface as a program refers to it: by its name, by its index, or by what a user writes for one of them.
///
/// ```swift
/// options.interface = "eth0"
/// options.interface = InterfaceReference(index: 3)
/// options.interface = InterfaceReference(nameOrIndex: text)     // "eth0" or "3"
/// ```
///
/// Each evaluation looks the interface up, as a new socket does. The counterparts are `IFLA_IFNAME`,
/// `IFLA_ALT_IFNAME` and `ifi_index`.
public struct InterfaceReference: Hashable, Sendable, Codable {
    /// The name, which can be an alternative one; `nil` for an index alone.
    public let name: String?
    /// The index; `nil` for a name alone.
    ///
    /// With a name too, it counts where no interface has that name.
    public let index: UInt32?

    /// Refers to an interface by its name.
    public init(name: String) {
        (self.name, index) = (name, nil)
    }

    /// Refers to an interface by its index: also to one whose name is not UTF-8.
    public init(index: UInt32) {
        (name, self.index) = (nil, index)
    }

    /// Refers to an interface as a user does: by a name, or by an index where no interface has that name.
    ///
    /// An index has decimal digits alone, and is not 0.
    public init(nameOrIndex text: String) {
        name = text
        index = ZoneIdentifier(text)?.index
    }

    /// The interface of the address's zone, else of the options, else of the local address's zone; `nil` for none.
    init?(of destination: IPAddress, from local: IPAddress?, _ options: ReachabilityOptions) {
        if let zone = destination.zone {
            self.init(nameOrIndex: zone.description)
        } else if let interface = options.interface {
            self = interface
        } else if let zone = local?.zone {
            self.init(nameOrIndex: zone.description)
        } else {
            return nil
        }
    }

    /// The reason where no such interface exists.
    var absence: ReachabilityReason {
        if let index {
            ReachabilityReason(.noInterface, other: "\(index)")
        } else {
            ReachabilityReason(.noInterface, name ?? "")
        }
    }
}

extension InterfaceReference: ExpressibleByStringLiteral {
    /// Refers to an interface by its name.
    public init(stringLiteral name: String) {
        self.init(name: name)
    }
}

extension InterfaceReference: CustomStringConvertible {
    /// The name, or the index in decimal.
    public var description: String {
        name ?? index.map { "\($0)" } ?? ""
    }
}
