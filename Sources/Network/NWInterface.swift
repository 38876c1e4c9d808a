// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

/// A network interface, by Apple's name.
///
/// What it is and how its type is found: see `NetworkInterface` of NetlinkReachability.
public struct NWInterface: Hashable, Sendable {
    /// What an interface connects to.
    ///
    /// As with Apple it has no list of its cases: programs give it one themselves.
    public enum InterfaceType: Hashable, Sendable {
        /// A tunnel, a dial-up link, or anything else.
        case other
        /// Wi-Fi.
        case wifi
        /// A cellular modem.
        case cellular
        /// Ethernet, and virtual interfaces that dress as it.
        case wiredEthernet
        /// This host.
        case loopback
    }

    let base: NetworkInterface

    init(_ base: NetworkInterface) {
        self.base = base
    }

    /// What the interface connects to.
    public var type: InterfaceType { InterfaceType(base.type) }
    /// Its name, such as `eth0`.
    public var name: String { base.name }
    /// Its number in this host, or rather in this network namespace.
    public var index: Int { base.index }
}

extension NWInterface: CustomDebugStringConvertible {
    /// The name.
    public var debugDescription: String { name }
}

extension NWInterface.InterfaceType {
    init(_ type: NetworkInterface.InterfaceType) {
        switch type {
        case .other: self = .other
        case .wifi: self = .wifi
        case .cellular: self = .cellular
        case .wiredEthernet: self = .wiredEthernet
        case .loopback: self = .loopback
        }
    }

    /// The same type in the words of NetlinkReachability.
    var base: NetworkInterface.InterfaceType {
        switch self {
        case .other: .other
        case .wifi: .wifi
        case .cellular: .cellular
        case .wiredEthernet: .wiredEthernet
        case .loopback: .loopback
        }
    }
}
