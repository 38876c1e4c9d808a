// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

extension HostChange {
    /// Parses the words of ip(8), with its abbreviations of objects and commands; `ip` may stand before them.
    ///
    /// - Parameter text: The words, such as `link set eth0 down`.
    /// - Throws: A refusal without a number: what is not known in the text, and what is.
    package init(_ text: String) throws(KernelRefusal) {
        var words = ChangeWords(text)
        _ = words.skip("ip")
        words.family = words.skip("-4") ? .v4 : words.skip("-6") ? .v6 : nil
        let object = try words.take(
            "a change", among: ["address", "route", "rule", "link", "carrier"], isAbbreviated: true)
        switch object {
        case "address": self.init(text: text, actions: [try words.addressAction()])
        case "route": self.init(text: text, actions: [try words.routeAction()])
        case "rule": self.init(text: text, actions: [try words.ruleAction()])
        case "link": self.init(text: text, actions: try words.linkActions())
        default: self.init(text: text, actions: [try words.carrier(try words.take("an interface"))])
        }
    }
}

/// The words of a change that are not read yet.
struct ChangeWords {
    private var words: ArraySlice<Substring>
    /// The family that -4 or -6 gave; `nil` for any.
    var family: IPAddress.Family?

    init(_ text: String) {
        words = text.split(whereSeparator: \.isWhitespace)[...]
    }

    var next: String? { words.first.map(String.init) }

    /// Takes the next word; `nil` at the end.
    mutating func take() -> String? {
        words.popFirst().map(String.init)
    }

    // MARK: Words

    /// The next word, which must be there.
    mutating func take(_ what: String) throws(KernelRefusal) -> String {
        guard let word = take() else { throw .unknown("\(what) is missing") }
        return word
    }

    /// The next word as one of several; the first that it abbreviates.
    mutating func take(
        _ what: String,
        among known: [String],
        isAbbreviated: Bool = false
    ) throws(KernelRefusal) -> String {
        let list = known.joined(separator: ", ")
        guard let word = take() else {
            throw .unknown("\(what) is missing: give one of \(list)")
        }
        guard let found = known.first(where: { isAbbreviated ? $0.hasPrefix(word) : $0 == word }) else {
            throw .unknown("\"\(word)\" is not known here: give one of \(list)")
        }
        return found
    }

    /// Takes the next word if it is this one.
    mutating func skip(_ word: String) -> Bool {
        guard next == word else { return false }
        words.removeFirst()
        return true
    }

    /// A number, or a name that stands for one.
    mutating func takeNumber<Number: FixedWidthInteger>(
        _ what: String,
        names: [String: Number] = [:]
    ) throws(KernelRefusal) -> Number {
        if let number = next.flatMap({ names[$0] }) {
            words.removeFirst()
            return number
        }
        let text = try take("the number after \(what)")
        guard let number = Number(changeText: text[...]) else {
            throw .unknown("\"\(text)\" after \(what) is not a number in its range")
        }
        return number
    }

    mutating func takeAddress(_ what: String) throws(KernelRefusal) -> IPAddress {
        let text = try take("the address after \(what)")
        guard let address = IPAddress(text), address.zone == nil else {
            throw .unknown("\"\(text)\" after \(what) is not an address")
        }
        return address
    }

    /// A prefix that a rule selects; `nil` for one that takes all addresses.
    mutating func takeSelectedPrefix(_ what: String) throws(KernelRefusal) -> IPPrefix? {
        let prefix = try prefix(try take("the prefix after \(what)"))
        return prefix.isDefault ? nil : prefix
    }

    /// A prefix; `default`, `all` and `any` are those of the family.
    func prefix(_ text: String) throws(KernelRefusal) -> IPPrefix {
        if ["default", "all", "any"].contains(text) { return family == .v6 ? .allV6 : .allV4 }
        guard let prefix = IPPrefix(text), family == nil || prefix.family == family else {
            throw .unknown("\"\(text)\" is not a prefix such as 198.51.100.0/24 or default")
        }
        return prefix
    }

    mutating func takeTable() throws(KernelRefusal) -> UInt32 {
        let names = ["main": Route.mainTable, "local": Route.localTable, "default": Route.defaultTable]
        let number = try takeNumber("table", names: names)
        return number == 0 ? Route.mainTable : number
    }

    /// The text of a word that is not known.
    static func unknown(_ word: String, _ known: String) -> KernelRefusal {
        .unknown("\"\(word)\" is not known here: give \(known)")
    }
}

extension FixedWidthInteger {
    /// A number in decimal, or in hexadecimal with 0x.
    init?(changeText text: Substring) {
        let isHexadecimal = text.hasPrefix("0x")
        self.init(isHexadecimal ? text.dropFirst(2) : text, radix: isHexadecimal ? 16 : 10)
    }
}

// MARK: - Interfaces and addresses

extension ChangeWords {
    fileprivate mutating func linkActions() throws(KernelRefusal) -> [HostChange.Action] {
        let command = try take("a command", among: ["set", "delete"], isAbbreviated: true)
        _ = skip("dev")
        let name = try take("an interface")
        guard command == "set" else {
            if let word = next { throw Self.unknown(word, "nothing after the interface") }
            return [.delete(name)]
        }
        var actions: [HostChange.Action] = []
        repeat {
            switch try take("a setting", among: ["up", "down", "master", "nomaster", "carrier"]) {
            case "up": actions.append(.setUp(name))
            case "down": actions.append(.setDown(name))
            case "master": actions.append(.setMaster(name, try take("the master")))
            case "nomaster": actions.append(.setMaster(name, nil))
            default: actions.append(try carrier(name))
            }
        } while next != nil
        return actions
    }

    fileprivate mutating func carrier(_ name: String) throws(KernelRefusal) -> HostChange.Action {
        .setCarrier(name, try take("the state of the carrier", among: ["off", "on"]) == "on")
    }

    fileprivate mutating func addressAction() throws(KernelRefusal) -> HostChange.Action {
        let command = try take("a command", among: ["add", "delete"], isAbbreviated: true)
        var request = HostChange.AddressRequest(address: .anyV4)
        var own: (address: IPAddress, length: Int?)?
        var peer: (address: IPAddress, length: Int?)?
        while let word = take() {
            switch word {
            case "dev": request.device = try take("an interface")
            case "peer", "remote": peer = try ownAddress(try take("the address after \(word)"))
            case "broadcast", "brd":
                guard skip("+") else { throw .unknown("only broadcast + is known, the subnet's own") }
            case "nodad": request.skipsDetection = true
            case "valid_lft", "preferred_lft": throw Self.lifetime(word)
            case "scope":
                let names: [String: RouteScope] = ["global": .universe, "link": .link, "host": .host]
                request.scope = names[try take("the scope", among: names.keys.sorted())]
            case "local" where own == nil: break
            case _ where own == nil: own = try ownAddress(word)
            default: throw Self.unknown(word, "dev NAME, peer ADDRESS, broadcast +, scope SCOPE or nodad")
            }
        }
        guard let own else { throw .unknown("an address is missing, such as 192.0.2.2/24") }
        guard !request.device.isEmpty else { throw .unknown("an interface is missing: give dev NAME") }
        (request.address, request.peer) = (own.address, peer?.address)
        request.length = peer?.length ?? own.length
        return .address(request, isAdded: command == "add")
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
}

// MARK: - Routes

extension ChangeWords {
    private static let routeWords =
        "via GATEWAY, dev NAME, metric NUMBER, table TABLE, src ADDRESS, tos NUMBER, proto NUMBER, nhid NUMBER, "
        + "onlink, or nexthop via GATEWAY dev NAME weight NUMBER"

    /// A change is tried at one moment, at which no lifetime is over.
    private static func lifetime(_ word: String) -> KernelRefusal {
        .unknown(
            "\(word) is not predicted, as the answers are those of one moment: leave it out, and try del for the end"
        )
    }

    fileprivate mutating func routeAction() throws(KernelRefusal) -> HostChange.Action {
        let verbs = ["add", "append", "prepend", "change", "chg", "replace", "delete"]
        let word = try take("a command", among: verbs, isAbbreviated: true)
        let verb = HostChange.Verb(rawValue: word) ?? .change
        let type = next.flatMap { HostChange.routeTypes[$0] }
        if type != nil { words.removeFirst() }
        if let word = next, ["local", "broadcast", "multicast", "anycast", "nat"].contains(word) {
            throw Self.unknown(
                word, "a type of \(HostChange.routeTypes.keys.sorted().joined(separator: ", "))")
        }
        _ = skip("to")
        let text = try take("the destination")
        // The gateway says the family of a default route.
        if family == nil, text == "default", words.contains(where: { $0.contains(":") }) { family = .v6 }
        var request = HostChange.RouteRequest(destination: try prefix(text))
        if let given = IPAddress(String(text.prefix { $0 != "/" })), text.contains("/"),
            request.destination.address != given
        {
            throw .unknown("\"\(text)\" has bits after its prefix: give \(request.destination)")
        }
        family = request.destination.family
        request.type = type
        var only = HostChange.RouteRequest.Nexthop()
        while let word = take() {
            if word == "nexthop" {
                request.isMultipath = true
                request.nexthops.append(try nexthop())
            } else if try !take(word, of: &only), try !take(word, of: &request) {
                throw Self.unknown(word, Self.routeWords)
            }
        }
        if only != HostChange.RouteRequest.Nexthop() {
            guard request.nexthops.isEmpty else {
                throw .unknown("a route has either via and dev, or nexthop")
            }
            request.nexthops = [only]
        }
        return .route(verb, request)
    }

    /// Takes a word of a nexthop.
    private mutating func take(
        _ word: String,
        of nexthop: inout HostChange.RouteRequest.Nexthop
    ) throws(KernelRefusal) -> Bool {
        switch word {
        case "via":
            _ = skip("inet") || skip("inet6")
            nexthop.gateway = try takeAddress(word)
        case "dev", "oif": nexthop.device = try take("an interface")
        case "onlink": nexthop.isOnLink = true
        case "weight":
            let weight: UInt16 = try takeNumber(word)
            guard (1...256).contains(weight) else { throw .unknown("a weight is from 1 to 256") }
            nexthop.weight = weight
        default: return false
        }
        return true
    }

    private mutating func nexthop() throws(KernelRefusal) -> HostChange.RouteRequest.Nexthop {
        var nexthop = HostChange.RouteRequest.Nexthop()
        while let word = next, word != "nexthop" {
            words.removeFirst()
            guard try take(word, of: &nexthop) else {
                throw Self.unknown(word, "via GATEWAY, dev NAME, weight NUMBER, onlink or nexthop")
            }
        }
        return nexthop
    }

    /// Takes a word of the route itself.
    private mutating func take(
        _ word: String,
        of request: inout HostChange.RouteRequest
    ) throws(KernelRefusal) -> Bool {
        switch word {
        case "metric", "priority", "preference": request.metric = try takeNumber(word)
        case "table": request.table = try takeTable()
        case "src": request.preferredSource = try takeAddress(word)
        case "tos", "dsfield": request.tos = try takeNumber(word)
        case "nhid": request.nexthopID = try takeNumber(word)
        case "expires": throw Self.lifetime(word)
        case "proto", "protocol":
            let names: [String: UInt8] = ["kernel": 2, "boot": 3, "static": 4, "ra": 9, "dhcp": 16]
            request.origin = try takeNumber(word, names: names)
        default: return false
        }
        return true
    }
}

// MARK: - Rules

extension ChangeWords {
    private static let ruleWords =
        "pref, not, from, to, fwmark, iif, oif, uidrange, ipproto, sport, dport, tos, lookup, goto, "
        + "suppress_prefixlength, blackhole, unreachable, prohibit or nop"

    fileprivate mutating func ruleAction() throws(KernelRefusal) -> HostChange.Action {
        let isAdded = try take("a command", among: ["add", "delete"], isAbbreviated: true) == "add"
        if family == nil { family = words.contains { $0.contains(":") } ? .v6 : .v4 }
        var request = HostChange.RuleRequest(
            rule: Rule(family: family ?? .v4, priority: 0, action: .lookup(table: Route.mainTable)))
        while let word = take() {
            if try !takeSelector(word, &request.rule) { try takeAction(word, &request) }
        }
        guard isAdded || !request.rule.isInverted else {
            throw .unknown("not is unknown in a rule to be removed: give its pref")
        }
        return .rule(request, isAdded: isAdded)
    }

    private mutating func takeSelector(_ word: String, _ rule: inout Rule) throws(KernelRefusal) -> Bool {
        switch word {
        case "not": rule.isInverted = true
        case "from": rule.source = try takeSelectedPrefix(word)
        case "to": rule.destination = try takeSelectedPrefix(word)
        case "fwmark":
            let text = try take("the mark")
            let parts = text.split(separator: "/").map { UInt32(changeText: $0) }
            guard (1...2).contains(parts.count), let value = parts[0], let mask = parts.last ?? nil else {
                throw .unknown("\"\(text)\" is not a mark such as 7 or 0x7/0xff")
            }
            rule.mark = Masked(value, mask: parts.count == 1 ? .max : mask)
        case "iif", "dev": rule.inputInterface = try take("an interface")
        case "oif": rule.outputInterface = try take("an interface")
        case "suppress_prefixlength", "sup_pl": rule.suppressedPrefixLength = try takeNumber(word)
        case "uidrange": rule.users = try takeRange(word)
        case "sport": rule.sourcePorts = try takeRange(word)
        case "dport": rule.destinationPorts = try takeRange(word)
        case "tos", "dsfield": rule.tos = try takeNumber(word)
        case "ipproto":
            let names: [String: UInt8] = ["tcp": 6, "udp": 17, "icmp": 1, "ipv6-icmp": 58]
            rule.ipProtocol = try takeNumber(word, names: names)
        default: return false
        }
        return true
    }

    private mutating func takeAction(
        _ word: String,
        _ request: inout HostChange.RuleRequest
    ) throws(KernelRefusal) {
        switch word {
        case "pref", "preference", "priority", "order":
            request.rule.priority = try takeNumber(word)
            request.hasPriority = true
            return
        case "lookup", "table": request.rule.action = .lookup(table: try takeTable())
        case "goto": request.rule.action = .goto(priority: try takeNumber(word))
        case "nop": request.rule.action = .nop
        case "blackhole": request.rule.action = .blackhole
        case "unreachable": request.rule.action = .unreachable
        case "prohibit": request.rule.action = .prohibit
        default: throw Self.unknown(word, Self.ruleWords)
        }
        request.hasAction = true
    }

    private mutating func takeRange<Number: FixedWidthInteger>(
        _ word: String
    ) throws(KernelRefusal) -> ClosedRange<Number> {
        let text = try take("the range after \(word)")
        let parts = text.split(separator: "-").map { Number(changeText: $0) }
        guard (1...2).contains(parts.count), let first = parts[0], let last = parts.last ?? nil, first <= last
        else { throw .unknown("\"\(text)\" after \(word) is not a range such as 1000-1999") }
        return first...last
    }
}
