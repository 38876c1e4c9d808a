// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel

// Settings of sysctl(8), with their side effects.

extension HostState {
    /// Changes a setting of an interface, of all of them, or of new ones.
    mutating func set(_ request: HostChange.SettingRequest) throws(KernelRefusal) {
        let isSet = request.value != 0
        let index = ["all", "default"].contains(request.device) ? nil : try index(of: request.device)
        let affected = index.map { [$0] } ?? (request.device == "all" ? links.map(\.index) : [])
        // No existing interface has what `default` says.
        let places: [SettingsReport.Place] =
            request.device == "default" ? [] : [index.map { .interface($0) } ?? .all]
        switch (request.name, request.family) {
        case (.reversePathFilter, _):
            for place in places { apply(place) { $0.reversePathFilter = request.value } }
        case (.forwarding, .v4):
            // `inet_forward_change`
            let isForAll = index == nil && snapshot.settings.ipv4Forwards != isSet
            let further = isForAll ? affected.map(SettingsReport.Place.interface) : []
            for place in places + further { apply(place) { $0.ipv4Forwards = isSet } }
        case (.forwarding, .v6):
            if isSet, !places.isEmpty { try checkRouters() }
            if index == nil {
                for place in places { apply(place) { $0.ipv6Forwards = isSet } }
            }
            for index in affected { setForwarding(index, isSet) }
        case (.disableIPv6, _): for index in affected { setIPv6(index, isOff: isSet) }
        case (.forceForwarding, _):
            for index in affected { change(index) { $0.ipv6ForwardsAlways = isSet } }
            notifications.append(.settings)
        }
    }

    private mutating func apply(_ place: SettingsReport.Place, _ report: (inout RoutingSettings) -> Void) {
        apply(.settings(SettingsReport(place, report)), .settings)
    }

    /// Changes settings of an interface without a notification.
    private mutating func change(_ index: UInt32, _ body: (inout RoutingSettings) -> Void) {
        guard var link = snapshot.links[index] else { return }
        body(&link.settings)
        routing.snapshot.setLink(index, link)
    }

    /// Throws if there are default routes of IPv6 routers: a host that begins to forward drops them
    /// (`rt6_purge_dflt_routers`), unless `accept_ra` is 2.
    private func checkRouters() throws(KernelRefusal) {
        let advertised = snapshot.routes.first {
            $0.destination.family == .v6 && $0.destination.length == 0 && $0.origin == Route.advertisedOrigin
        }
        try require(
            advertised == nil,
            "whether the default routes that IPv6 routers advertise stay depends on accept_ra, which is not recorded"
        )
    }

    /// Changes whether an interface is a router's: `dev_forward_change`.
    private mutating func setForwarding(_ index: UInt32, _ forwards: Bool) {
        guard let link = snapshot.links[index], link.settings.ipv6Forwards != forwards else { return }
        let addresses = snapshot.addresses(ofInterface: index, family: .v6)
        for address in addresses { if let route = anycastRoute(of: address) { remove(route) } }
        apply(.interface(index)) { $0.ipv6Forwards = forwards }
        for address in addresses where isUsed(address) { insert(anycastRoute(of: address)) }
    }

    /// Takes IPv6 off an interface, or configures it again: `dev_disable_change`.
    private mutating func setIPv6(_ index: UInt32, isOff: Bool) {
        guard let link = snapshot.links[index], link.settings.ipv6IsOff != isOff else { return }
        change(index) { $0.ipv6IsOff = isOff }
        if isOff {
            leaveIPv6(index) { $0.routing.snapshot.markDead(family: .v6, interface: index, force: true) }
        } else {
            if interfaces[index]?.isUp == true { routing.snapshot.revive(link, families: [.v6]) }
            becomeReady(index)
        }
    }

    /// Throws if IPv6 is off on an interface.
    func checkHasIPv6(_ index: UInt32) throws(KernelRefusal) {
        guard let link = snapshot.links[index], link.settings.ipv6IsOff == true else { return }
        throw KernelRefusal(
            EACCES, "IPv6 is off on \(link.name): net.ipv6.conf.\(link.name).disable_ipv6 is 1")
    }
}
