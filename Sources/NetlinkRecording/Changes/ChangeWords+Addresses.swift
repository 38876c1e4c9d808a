// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Changes of interfaces and their addresses.

extension ChangeWords {
    mutating func linkActions() throws(KernelRefusal) -> [HostChange.Action] {
        let command = try read("a command", among: ["set", "delete"], isAbbreviated: true)
        _ = skip("dev")
        let name = try read("an interface")
        guard command == "set" else { return [.delete(name)] }
        var actions: [HostChange.Action] = []
        var sizes: Set<String> = []
        repeat {
            let settings = [
                "up", "down", "master", "nomaster", "carrier", "mtu", "txqueuelen", "txqlen", "qlen",
                "promisc", "allmulticast", "alias",
            ]
            if let word = next, ["mtu", "txqueuelen", "txqlen", "qlen"].contains(word),
                !sizes.insert(word == "mtu" ? word : "qlen").inserted
            {
                throw .unknown("\(word) is given twice")
            }
            switch try read("a setting", among: settings) {
            case "up": actions.append(.setUp(name))
            case "down": actions.append(.setDown(name))
            case "master": actions.append(.setMaster(name, try read("the master")))
            case "nomaster": actions.append(.setMaster(name, nil))
            case "carrier": actions.append(try carrier(name))
            // The MTU is a signed number, as in ip(8).
            case "mtu": actions.append(.setMTU(name, try readNumber("mtu")))
            case "txqueuelen", "txqlen", "qlen": let _: Int32 = try readNumber("txqueuelen")
            case "alias": _ = try read("the alias")
            default: _ = try read("the state", among: ["on", "off"])
            }
        } while next != nil
        return actions.isEmpty ? [.find(name)] : actions
    }

    mutating func carrier(_ name: String) throws(KernelRefusal) -> HostChange.Action {
        .setCarrier(name, try read("the state of the carrier", among: ["off", "on"]) == "on")
    }

    // MARK: Addresses

    /// Reads a scope by its name or its number.
    mutating func readScope() throws(KernelRefusal) -> RouteScope {
        let names: [String: UInt8] = ["global": 0, "site": 200, "link": 253, "host": 254, "nowhere": 255]
        guard next.map({ names[$0] != nil || UInt8(changeText: $0[...]) != nil }) ?? false else {
            let known = names.keys.sorted().joined(separator: ", ")
            throw Self.unknown(next ?? "", "the scope as one of \(known), or a number from 0 to 255")
        }
        return RouteScope(rawValue: try readNumber("scope", names: names))
    }

    mutating func addressAction() throws(KernelRefusal) -> HostChange.Action {
        let verbs = ["add", "change", "chg", "replace", "delete", "flush"]
        let command = try read("a command", among: verbs, isAbbreviated: true)
        if command == "flush" { return .flushAddresses(try addressFlush()) }
        var request = HostChange.AddressRequest(address: .anyV4)
        var own: (address: IPAddress, length: Int?)?
        var peer: (address: IPAddress, length: Int?)?
        var broadcast: String?
        while let word = read() {
            switch word {
            case "dev": request.device = try read("an interface")
            case "peer", "remote": peer = try ownAddress(try read("the address after \(word)"))
            case "broadcast", "brd":
                guard broadcast == nil else { throw .unknown("broadcast is given twice") }
                broadcast = try read("the address after \(word)")
            case "label": _ = try read("the label")
            case "nodad": request.skipsDetection = true
            case "noprefixroute": request.hasNoPrefixRoute = true
            case "valid_lft", "preferred_lft":
                guard skip("forever") else { throw Self.lifetime(word) }
            case "scope": request.scope = try readScope()
            case "local" where own == nil: break
            case _ where own == nil: own = try ownAddress(word)
            default:
                throw Self.unknown(
                    word,
                    "dev NAME, peer ADDRESS, broadcast ADDRESS, label NAME, scope SCOPE, noprefixroute or nodad"
                )
            }
        }
        guard let own else { throw .unknown("an address is missing, such as 192.0.2.2/24") }
        guard !request.device.isEmpty else { throw .unknown("an interface is missing: give dev NAME") }
        (request.address, request.peer) = (own.address, peer?.address)
        request.length = peer.map { $0.length ?? $0.address.family.bitWidth } ?? own.length
        if let broadcast { request.broadcast = try self.broadcast(broadcast, of: request) }
        return .address(HostChange.Verb(rawValue: command) ?? .change, request)
    }

    /// The given broadcast address.
    ///
    /// `+` means the last address of the subnet, if the subnet has at least two host bits. `-` means the first
    /// address.
    private func broadcast(
        _ text: String,
        of request: HostChange.AddressRequest
    ) throws(KernelRefusal) -> IPAddress? {
        try require(request.address.family == .v4, "an IPv6 address has no broadcast address")
        let subnet = IPPrefix(request.peer ?? request.address, length: min(request.length ?? 32, 32))
            .flatMap { $0.length <= 30 ? $0 : nil }
        switch text {
        case "+": return subnet?.lastAddress
        case "-": return subnet?.address
        default:
            guard let address = IPAddress(changeText: text[...], .v4) else {
                throw .unknown("\"\(text)\" is not an address such as 192.0.2.255")
            }
            return address
        }
    }

    private func ownAddress(_ text: String) throws(KernelRefusal) -> (address: IPAddress, length: Int?) {
        guard let own = try prefix(text, family) else {
            throw .unknown("\"\(text)\" is not an address such as 192.0.2.2/24")
        }
        return own
    }

    private mutating func addressFlush() throws(KernelRefusal) -> HostChange.AddressFlush {
        guard next != nil else { throw .unknown("flush needs dev NAME, scope SCOPE or to PREFIX") }
        var flush = HostChange.AddressFlush(family: family)
        while let word = read() {
            switch word {
            case "dev": flush.device = try read("an interface")
            case "scope": flush.scope = try readScope()
            case "to":
                let found = try prefix(try read("the prefix after to"), family)
                flush.prefix = found.flatMap {
                    IPPrefix($0.address, length: $0.length ?? $0.address.family.bitWidth)
                }
            default: throw Self.unknown(word, "dev NAME, scope SCOPE or to PREFIX")
            }
        }
        return flush
    }
}
