// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
package import RoutingModel
internal import SystemSupport

extension KernelRouting {
    /// Returns the routes of types that send nothing whose prefix has one of the addresses.
    func refusingRoutes(over destinations: [IPAddress]) throws(ReachabilityError) -> [Route] {
        var routes: [Route] = []
        for family in Set(destinations.map(\.family)) {
            for type in RouteType.refusing {
                routes += try self.routes(family, "list the routes that send nothing", type: type) { route in
                    destinations.contains { route.destination.contains($0) }
                }
            }
        }
        return routes
    }

    /// Returns the addresses to which a table has a unicast route of their own that a program added.
    func hostRoutes(inTable table: UInt32) throws(ReachabilityError) -> [IPAddress] {
        var addresses: [IPAddress] = []
        for family in IPAddress.Family.allCases {
            addresses += try routes(
                family, "list the routes to single hosts", type: .unicast, inTable: table,
                where: \.isHostRoute
            ).map(\.destination.address)
        }
        return addresses
    }

    /// Returns the routes of a table whose prefix covers an address.
    func routes(
        inTable table: UInt32, over address: IPAddress
    ) throws(ReachabilityError) -> [Route] {
        try routes(address.family, "list the routes of a table", inTable: table) {
            $0.destination.contains(address)
        }
    }

    /// Lists routes of a type and a table.
    ///
    /// Linux 4.20 and later sends only these routes. An older kernel sends all routes, so the result is filtered.
    private func routes(
        _ family: IPAddress.Family,
        _ operation: String,
        type: RouteType? = nil,
        inTable table: UInt32? = nil,
        where isWanted: (Route) -> Bool
    ) throws(ReachabilityError) -> [Route] {
        var body = rtmsg()
        (body.rtm_family, body.rtm_type) = (family.rawValue, type?.rawValue ?? 0)
        let attributes = table.map { [Request.Attribute(Int(RTA_TABLE.rawValue), $0)] } ?? []
        let request = Request(RTM_GETROUTE, isDump: true, body, attributes)
        return try withSocket { (socket) throws(ReachabilityError) in
            do throws(ReachabilityError) {
                return try socket.list(request, operation, from: []) { (found: inout [Route], message) in
                    guard case .route(let route, _)? = message.change, !route.isCloned,
                        type == nil || route.type == type, table == nil || route.table == table,
                        isWanted(route)
                    else { return }
                    found.append(route)
                }
            } catch  where table != nil && [ENOENT, EAFNOSUPPORT, EOPNOTSUPP].contains(error.number) {
                // The family has no such table, or the kernel does not support the family.
                return []
            }
        }
    }

    /// Returns the ends that the forwarding table of a vxlan has.
    func forwardingEnds(ofInterface index: UInt32) throws(ReachabilityError) -> Set<TunnelEnds> {
        var body = ndmsg()
        body.ndm_family = UInt8(AF_BRIDGE)
        body.ndm_ifindex = Int32(bitPattern: index)
        let request = Request(RTM_GETNEIGH, isDump: true, body)
        return try withSocket { (socket) throws(ReachabilityError) in
            try socket.list(request, "list a forwarding table", from: []) {
                (found: inout Set<TunnelEnds>, message) throws(MalformedMessage) in
                let (body, attributes) = try message.parts(ndmsg.self)
                // An older kernel sends the entries of all interfaces.
                guard body.ndm_ifindex == Int32(bitPattern: index),
                    let remote = attributes[NDA_DST].flatMap({ IPAddress(bytes: $0) })
                else { return }
                var ends = TunnelEnds()
                ends.remote = remote
                ends.link = try attributes.value(NDA_IFINDEX) ?? 0
                found.insert(ends)
            }
        }
    }

    /// Returns the peers of a WireGuard interface; `nil` if the kernel does not show them.
    ///
    /// The kernel shows them to a thread with CAP_NET_ADMIN, which it can get and lose. A device that was moved sends
    /// in the network namespace that it was made in: its peers count where its UDP socket is in this one.
    func wireGuardPeers(ofInterface index: UInt32) throws(ReachabilityError) -> WireGuardPeers? {
        guard isInNamespace else { return nil }
        do throws(ReachabilityError) {
            let interface = Request.Attribute(Int(WGDEVICE_A_IFINDEX.rawValue), index)
            let messages = try GenericFamily.wireGuard.dump(
                WG_CMD_GET_DEVICE.rawValue, "list the peers of a WireGuard interface", [interface],
                from: WireGuardMessages()
            ) { (messages, message) throws(MalformedMessage) in try messages.add(message) }
            guard let messages, messages.listenPort != 0,
                try ConnectedSocket.isUnconnectedUDP(messages.listenPort)
            else { return nil }
            return messages.result
        } catch {
            // The interface is gone or no WireGuard interface, or the kernel lacks the family or sock_diag.
            let isUnknown = [EPERM, EACCES, ENODEV, EOPNOTSUPP, ENOENT, EPROTONOSUPPORT].contains(
                error.number)
            guard isUnknown else { throw error }
            return nil
        }
    }

    /// Returns the addresses of one interface, or of all.
    ///
    /// - Parameters:
    ///   - index: The interface; 0 for all.
    ///   - family: The family; `nil` for both.
    /// - Returns: The addresses in the kernel's order.
    /// - Throws: An error if the dump fails.
    package func addresses(
        ofInterface index: UInt32 = 0,
        family: IPAddress.Family? = nil
    ) throws(ReachabilityError) -> [InterfaceAddress] {
        try withSocket { (socket) throws(ReachabilityError) in
            try socket.addresses(ofInterface: index, family: family)
        }
    }
}

extension KernelRouting {
    /// Returns the settings for packets that arrive on an interface.
    ///
    /// They are asked for each time: few changes of them are notified.
    func inputSettings(ofInterface index: UInt32) throws(ReachabilityError) -> InputSettings? {
        let found = try withSocket { (socket) throws(ReachabilityError) -> InputSettings? in
            guard let link = try socket.link(index: index) else { return nil }
            var all = RoutingSettings()
            for family in IPAddress.Family.allCases {
                var body = netconfmsg()
                body.ncm_family = family.rawValue
                let request = Request(
                    DumpRequest.Table.settings.rawValue, body,
                    [Request.Attribute(NETCONFA_IFINDEX, NETCONFA_IFINDEX_ALL)])
                let report = try socket.value(
                    request, "ask for the settings of all interfaces",
                    missingFor: [EOPNOTSUPP, EAFNOSUPPORT, EPFNOSUPPORT], SettingsReport.init)
                if let report { all.take(report.settings) }
            }
            return InputSettings(own: link.settings, all: all)
        }
        guard var found else { return nil }
        // /proc/sys/net shows the network namespace of the reading thread.
        if isInNamespace { found.all.fill(from: .sysctlsOfAll) }
        return found
    }
}

extension RoutingSettings {
    /// The settings for all interfaces (`conf/all`) that no kernel message contains, from /proc/sys.
    ///
    /// A setting that cannot be read is unknown.
    ///
    /// Every process can read them. They belong to the network namespace of the calling thread.
    package static var sysctlsOfAll: RoutingSettings {
        func isSet(_ name: String) -> Bool? { KernelSetting.isSet("net/ipv4/conf/all/\(name)") }
        var settings = RoutingSettings()
        settings.takesOwnSources = isSet("accept_local")
        settings.looksBackByMark = isSet("src_valid_mark")
        settings.sendsRedirects = isSet("send_redirects")
        settings.forwardsBroadcasts = isSet("bc_forwarding")
        settings.routesLoopback = isSet("route_localnet")
        return settings
    }
}

extension KernelRouting {
    /// Returns the hardware addresses of the neighbours that have one.
    ///
    /// - Throws: An error when the dump failed, or was interrupted each time (EAGAIN).
    func hardwareAddresses() throws(ReachabilityError) -> [Neighbour.Key: [UInt8]]? {
        try neighbours(Neighbour.hardwareAddress)
    }

    /// Returns the TCP connections and the neighbours.
    ///
    /// `nil` in another namespace, and where the kernel has no inet_diag or a sandbox refuses it.
    func answerRecord() throws(ReachabilityError) -> AnswerRecord? {
        guard isInNamespace, let sockets = try? ConnectedSocket.connections() else { return nil }
        return .kernel(sockets, try neighbours(NeighbourReply.read))
    }

    /// Returns what a function reads of each neighbour; it skips a message that it cannot read.
    private func neighbours<Value: Sendable>(
        _ read: (NetlinkMessage) throws(MalformedMessage) -> (key: Neighbour.Key, value: Value)?
    ) throws(ReachabilityError) -> [Neighbour.Key: Value] {
        let request = Request(RTM_GETNEIGH, isDump: true, ndmsg())
        return try withSocket { (socket) throws(ReachabilityError) in
            try socket.list(request, "dump the kernel's neighbours", from: [:]) {
                (found: inout [Neighbour.Key: Value], message) in
                if let entry = try? read(message) { found[entry.key] = entry.value }
            }
        }
    }
}
