// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel

/// A network interface, by Apple's name.
///
/// `NetworkInterface` of NetlinkReachability describes how the type is determined.
public struct NWInterface: Hashable, Sendable {
    /// What an interface connects to.
    ///
    /// As on Apple's platforms, the type is not `CaseIterable`, so that programs can add the conformance.
    public enum InterfaceType: Hashable, Sendable {
        /// A tunnel, a dial-up link, or anything else.
        case other
        /// Wi-Fi.
        case wifi
        /// A cellular modem.
        case cellular
        /// Ethernet, and virtual interfaces that present themselves as Ethernet.
        case wiredEthernet
        /// The loopback interface.
        case loopback
    }

    let base: NetworkInterface

    init(_ base: NetworkInterface) {
        self.base = base
    }

    /// What the interface connects to.
    public var type: InterfaceType { InterfaceType(base.type) }
    /// The name, such as `eth0`.
    public var name: String { base.name }
    /// The index of the interface in this network namespace.
    public var index: Int { Int(base.index) }
}

extension NWInterface {
    /// Finds an interface of this host by its name.
    init?(named name: String) {
        let routing = NetworkSource.kernel.facts.routing
        guard !name.isEmpty, let index = try? routing.interfaceIndex(named: name) else { return nil }
        self.init(index: index)
    }

    /// Finds an interface of this host by its index.
    init?(index: UInt32) {
        let routing = NetworkSource.kernel.facts.routing
        guard let facts = try? routing.facts(aboutInterface: index, detail: .reason) else { return nil }
        self.init(NetworkInterface(facts))
    }
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

    /// The same type in NetlinkReachability.
    var base: NetworkInterface.InterfaceType {
        NetworkInterface.InterfaceType.allCases.first { Self($0) == self } ?? .other
    }
}
