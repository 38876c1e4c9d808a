// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Interfaces and their addresses.

extension ChangeWords {
    mutating func linkActions() throws(KernelRefusal) -> [HostChange.Action] {
        let command = try take("a command", among: ["set", "delete"], isAbbreviated: true)
        _ = skip("dev")
        let name = try take("an interface")
        guard command == "set" else { return [.delete(name)] }
        var actions: [HostChange.Action] = []
        repeat {
            let settings = [
                "up", "down", "master", "nomaster", "carrier", "mtu", "txqueuelen", "promisc", "allmulticast",
                "alias",
            ]
            switch try take("a setting", among: settings) {
            case "up": actions.append(.setUp(name))
            case "down": actions.append(.setDown(name))
            case "master": actions.append(.setMaster(name, try take("the master")))
            case "nomaster": actions.append(.setMaster(name, nil))
            case "carrier": actions.append(try carrier(name))
            case "mtu": try takeMTU()
            case "txqueuelen": let _: UInt32 = try takeNumber("txqueuelen")
            case "alias": _ = try take("the alias")
            default: _ = try take("the state", among: ["on", "off"])
            }
        } while next != nil
        return actions.isEmpty ? [.find(name)] : actions
    }

    /// The MTU of an interface changes no route, unless it is too small for IPv6.
    private mutating func takeMTU() throws(KernelRefusal) {
        let size: UInt32 = try takeNumber("mtu")
        guard size >= 1_280 else {
            throw .unknown("an mtu below 1280 takes IPv6 off the interface, which is not predicted")
        }
    }

    mutating func carrier(_ name: String) throws(KernelRefusal) -> HostChange.Action {
        .setCarrier(name, try take("the state of the carrier", among: ["off", "on"]) == "on")
    }

    // MARK: Addresses

    private static let scopes: [String: RouteScope] = [
        "global": .universe, "universe": .universe, "site": RouteScope(rawValue: 200), "link": .link,
        "host": .host,
    ]

    mutating func takeScope() throws(KernelRefusal) -> RouteScope {
        let word = try take("the scope", among: Self.scopes.keys.sorted())
        return Self.scopes[word] ?? .universe
    }

    mutating func addressAction() throws(KernelRefusal) -> HostChange.Action {
        let verbs = ["add", "change", "chg", "replace", "delete", "flush"]
        let command = try take("a command", among: verbs, isAbbreviated: true)
        if command == "flush" { return .flushAddresses(try addressFlush()) }
        var request = HostChange.AddressRequest(address: .anyV4)
        var own: (address: IPAddress, length: Int?)?
        var peer: (address: IPAddress, length: Int?)?
        var broadcast: String?
        while let word = take() {
            switch word {
            case "dev": request.device = try take("an interface")
            case "peer", "remote": peer = try ownAddress(try take("the address after \(word)"))
            case "broadcast", "brd": broadcast = try take("the address after \(word)")
            case "label": _ = try take("the label")
            case "nodad": request.skipsDetection = true
            case "noprefixroute": request.hasNoPrefixRoute = true
            case "valid_lft", "preferred_lft":
                guard skip("forever") else { throw Self.lifetime(word) }
            case "scope": request.scope = try takeScope()
            case "local" where own == nil: break
            case _ where own == nil: own = try ownAddress(word)
            default:
                throw Self.unknown(
                    word,
                    "dev NAME, peer ADDRESS, broadcast +, label NAME, scope SCOPE, noprefixroute or nodad")
            }
        }
        guard let own else { throw .unknown("an address is missing, such as 192.0.2.2/24") }
        guard !request.device.isEmpty else { throw .unknown("an interface is missing: give dev NAME") }
        (request.address, request.peer) = (own.address, peer?.address)
        request.length = peer?.length ?? own.length
        try check(broadcast, of: request)
        switch command {
        case "add": return .address(.add, request)
        case "delete": return .address(.delete, request)
        case "replace": return .address(.replace, request)
        default: return .address(.change, request)
        }
    }

    /// Another broadcast address than the subnet's own has a route of its own.
    private func check(_ broadcast: String?, of request: HostChange.AddressRequest) throws(KernelRefusal) {
        guard let broadcast, broadcast != "+" else { return }
        let length = request.length ?? request.address.family.bitWidth
        let subnet = IPPrefix(request.peer ?? request.address, length: length)
        guard let subnet, request.address.family == .v4, IPAddress(broadcast) == subnet.lastAddress else {
            throw .unknown("\"\(broadcast)\" is not the subnet's own broadcast address: give broadcast +")
        }
    }

    private func ownAddress(_ text: String) throws(KernelRefusal) -> (address: IPAddress, length: Int?) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let address = IPAddress(String(parts[0])), address.zone == nil, parts.count <= 2,
            family == nil || family == address.family
        else { throw .unknown("\"\(text)\" is not an address such as 192.0.2.2/24") }
        guard parts.count == 2 else { return (address, nil) }
        guard let length = Int(parts[1]), (0...address.family.bitWidth).contains(length) else {
            throw .unknown("\"\(text)\" has no valid length of a prefix")
        }
        return (address, length)
    }

    private mutating func addressFlush() throws(KernelRefusal) -> HostChange.AddressFlush {
        guard next != nil else { throw .unknown("flush needs dev NAME, scope SCOPE or to PREFIX") }
        var flush = HostChange.AddressFlush(family: family)
        while let word = take() {
            switch word {
            case "dev": flush.device = try take("an interface")
            case "scope": flush.scope = try takeScope()
            case "to": flush.prefix = try prefix(try take("the prefix after to"))
            default: throw Self.unknown(word, "dev NAME, scope SCOPE or to PREFIX")
            }
        }
        return flush
    }
}
