// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkReachability
internal import RoutingModel
internal import TestSupport

/// A target and the binding of the socket that sends to it, in the network of this process.
struct Triple: Hashable {
    /// How a socket is bound; each kind has an equal share of a run, but the default path a larger one.
    enum Kind: String, CaseIterable {
        case none, device, source, mark, deviceAndSource, zone, user, flow, transparent, defaultPath, tunnel
    }

    var kind: Kind
    /// The target; without a zone unless the kind is ``Kind/zone``.
    var target: IPAddress
    /// The public addresses that sockets connect to in place of the default path; empty for other targets.
    var publicAddresses: [IPAddress] = []
    /// SO_BINDTODEVICE.
    var device: String?
    /// The address that the socket is bound to.
    var source: IPAddress?
    /// SO_MARK.
    var mark: UInt32 = 0
    /// The owner of the socket; `nil` for the user of this process.
    var user: UInt32?
    /// Whether a TCP socket connects, and not a UDP socket.
    var isTCP = false
    /// The destination port, in host order; 0 for none.
    var port: UInt16 = 0
    /// The port that the socket is bound to, in host order; 0 for none.
    var sourcePort: UInt16 = 0
    /// IP_TOS or IPV6_TCLASS.
    var typeOfService: UInt8 = 0

    init(_ kind: Kind, target: IPAddress) {
        self.kind = kind
        self.target = target
    }

    /// The interface that the socket is bound to, by its device or by the target's zone.
    var boundInterface: String? { device ?? target.zone?.name }

    /// The same query for sockets: one, or one for each public address.
    var queries: [RouteQuery] {
        publicAddresses.isEmpty ? [query(about: target)] : publicAddresses.map(query)
    }

    private func query(about address: IPAddress) -> RouteQuery {
        var destination = address
        let zone = target.zone?.interfaceIndex ?? 0
        destination.zone = zone == 0 ? nil : ZoneIdentifier(index: zone)
        // A zone of an address that needs none is a binding to the interface.
        let bound = device.map { if_nametoindex($0) } ?? (target.needsZone ? 0 : zone)
        var query = RouteQuery(destination: destination, outputInterface: bound, source: source, mark: mark)
        query.user = user
        query.ipProtocol = isTCP ? UInt8(IPPROTO_TCP) : nil
        query.sourcePort = sourcePort == 0 ? nil : sourcePort
        query.destinationPort = port == 0 ? nil : port
        query.typeOfService = typeOfService
        return query
    }

    /// The only family of the public addresses; `nil` for both, and for other targets.
    private var family: IPAddress.Family? {
        let families = Set(publicAddresses.map(\.family))
        return families.count == 1 ? families.first : nil
    }

    /// The same query in the words of the library.
    var options: ReachabilityOptions {
        var options = ReachabilityOptions()
        options.interface = device.map { InterfaceReference(nameOrIndex: $0) }
        options.sourceAddress = source
        if let family { options.families = family == .v4 ? .v4 : .v6 }
        options.mark = mark
        options.user = user
        if kind == .flow { options.ipProtocol = isTCP ? .tcp : .udp }
        if port != 0 { options.destinationPort = port }
        if sourcePort != 0 { options.sourcePort = sourcePort }
        options.typeOfService = typeOfService
        return options
    }
}

extension Triple: CustomStringConvertible {
    /// The binding and the target, as the options of a command line.
    var description: String {
        var words = ["\(kind):"]
        if let family { words.append(family == .v4 ? "-4" : "-6") }
        if let device { words.append("--interface \(device)") }
        if let source { words.append("--source \(source)") }
        if mark != 0 { words.append("--mark \(mark)") }
        if let user { words.append("--uid \(user)") }
        if kind == .flow { words.append("--protocol \(isTCP ? "tcp" : "udp")") }
        if port != 0 { words.append("--port \(port)") }
        if sourcePort != 0 { words.append("--source-port \(sourcePort)") }
        if typeOfService != 0 { words.append("--tos \(typeOfService)") }
        return (words + [kind == .defaultPath ? "default" : "\(target)"]).joined(separator: " ")
    }
}
