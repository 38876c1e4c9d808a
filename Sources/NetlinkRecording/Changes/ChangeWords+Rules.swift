// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Changes of rules.

extension ChangeWords {
    private static let ruleWords =
        "pref, not, from, to, fwmark, iif, oif, uidrange, ipproto, sport, dport, tos, l3mdev, lookup, goto, "
        + "suppress_prefixlength, suppress_ifgroup, protocol, blackhole, unreachable, prohibit or nop"

    mutating func ruleAction() throws(KernelRefusal) -> HostChange.Action {
        let command = try read("a command", among: ["add", "delete", "flush"], isAbbreviated: true)
        guard command != "flush" else { return .flushRules(family ?? .v4) }
        guard next != nil else { throw .unknown("a rule is missing: give \(Self.ruleWords)") }
        let isAdded = command == "add"
        var request = HostChange.RuleRequest(
            rule: Rule(family: family ?? .v4, priority: 0, action: .lookup(table: Route.mainTable)))
        while let word = read() {
            if try !readSelector(word, &request.rule) { try readAction(word, &request, isAdded) }
        }
        if request.rule.isL3MDev, isAdded {
            try require(!request.hasAction, "l3mdev and a table or another action exclude each other")
            request.rule.action = .lookup(table: 0)
        }
        try require(
            isAdded || !request.rule.isInverted, "not is unknown in a rule to be removed: give its pref")
        return .rule(request, isAdded: isAdded)
    }

    private mutating func readSelector(_ word: String, _ rule: inout Rule) throws(KernelRefusal) -> Bool {
        switch word {
        case "not": rule.isInverted = true
        case "from": rule.source = try readSelectedPrefix(word)
        case "to": rule.destination = try readSelectedPrefix(word)
        case "fwmark":
            let text = try read("the mark")
            let parts = text.split(separator: "/", omittingEmptySubsequences: false).map {
                UInt32(changeText: $0)
            }
            guard (1...2).contains(parts.count), let value = parts[0], let mask = parts.last ?? nil else {
                throw .unknown("\"\(text)\" is not a mark such as 7 or 0x7/0xff")
            }
            rule.mark = Masked(value, mask: parts.count == 1 ? .max : mask)
        case "iif", "dev": rule.inputInterface = try read("an interface")
        case "oif": rule.outputInterface = try read("an interface")
        case "l3mdev": rule.isL3MDev = true
        case _ where word == "sup_pl" || word.count > 8 && "suppress_prefixlength".hasPrefix(word):
            rule.suppressedPrefixLength = try readNumber(word)
        case _ where word == "sup_group" || word.count > 9 && "suppress_ifgroup".hasPrefix(word):
            rule.suppressedGroup = try readNumber(word, names: ["default": 0])
        case "uidrange": rule.users = try readRange(word, isPair: true)
        case "sport": rule.sourcePorts = try readRange(word)
        case "dport": rule.destinationPorts = try readRange(word)
        case _ where word == "tos" || "dsfield".hasPrefix(word): rule.tos = try readTypeOfService(word)
        case "ipproto":
            let names: [String: UInt8] = ["tcp": 6, "udp": 17, "icmp": 1, "ipv6-icmp": 58]
            rule.ipProtocol = try readNumber(word, names: names)
        default: return false
        }
        return true
    }

    /// Reads a prefix that a rule matches; `nil` if it matches all addresses.
    private mutating func readSelectedPrefix(_ what: String) throws(KernelRefusal) -> IPPrefix? {
        let text = try read("the prefix after \(what)")
        guard let (address, length) = try prefix(text, family), length != 0 else { return nil }
        guard family != nil || address.family == .v4 else {
            throw .unknown("the kernel refuses \"\(text)\" in an IPv4 rule: begin the change with -6")
        }
        return IPPrefix(address, length: length ?? address.family.bitWidth)
    }

    private mutating func readAction(
        _ word: String,
        _ request: inout HostChange.RuleRequest,
        _ isAdded: Bool
    ) throws(KernelRefusal) {
        switch word {
        case _ where ["preference", "order", "priority"].contains(where: { $0.hasPrefix(word) }):
            request.rule.priority = try readNumber(word)
            request.hasPriority = true
            return
        case _ where "protocol".hasPrefix(word):
            _ = try readOrigin(word)
            request.hasOrigin = true
            guard isAdded else { throw .unknown("\(word) is unknown in a rule to be removed: give its pref") }
            return
        case _ where word == "lookup" || "table".hasPrefix(word):
            request.rule.action = .lookup(table: try readTable())
        case "type":
            guard let type = next.flatMap(Self.ruleType) else {
                throw Self.unknown(next ?? "", "unicast, goto, nop, blackhole, unreachable or prohibit")
            }
            words.removeFirst()
            request.rule.action = try readAction(ofType: type) ?? request.rule.action
        default:
            guard let type = Self.ruleType(word) else { throw Self.unknown(word, Self.ruleWords) }
            // The type of a rule that looks up a table sets no action: the table is given separately.
            guard let action = try readAction(ofType: type) else { return }
            request.rule.action = action
        }
        request.hasAction = true
    }

    /// The type of a rule that a word or its abbreviation names.
    private static func ruleType(_ word: String) -> String? {
        let type = ["goto", "nop"].first { $0.hasPrefix(word) } ?? routeType(word)
        let known = ["goto", "nop", "unicast", "blackhole", "unreachable", "prohibit"]
        return type.flatMap { known.contains($0) ? $0 : nil }
    }

    /// The action of a rule with a type; `nil` for a rule that looks up a table.
    private mutating func readAction(ofType type: String) throws(KernelRefusal) -> Rule.Action? {
        switch type {
        case "goto": .goto(priority: try readNumber(type))
        case "nop": .nop
        case "blackhole": .blackhole
        case "unreachable": .unreachable
        case "prohibit": .prohibit
        default: nil
        }
    }

    /// Reads a range as sscanf(3) does: a number that is too large keeps its lowest bits, and text after the range is
    /// ignored.
    private mutating func readRange<Number: FixedWidthInteger>(
        _ word: String,
        isPair: Bool = false
    ) throws(KernelRefusal) -> ClosedRange<Number> {
        let text = try read("the range after \(word)")
        var rest = text.utf8[...]
        let first: Number? = Self.scanNumber(&rest)
        guard first == nil || rest.first != UInt8(ascii: "/") else {
            throw .unknown("\"\(text)\" after \(word) has a mask, which is not known here: give a range")
        }
        let second: Number? = rest.popFirst() == UInt8(ascii: "-") ? Self.scanNumber(&rest) : nil
        guard let first, second != nil || !isPair else {
            throw .unknown("\"\(text)\" after \(word) is not a range such as 1000-1999")
        }
        try require(
            first <= second ?? first,
            "the kernel refuses the range \"\(text)\" after \(word), which ends before it begins")
        return first...(second ?? first)
    }

    private static func scanNumber<Number: FixedWidthInteger>(_ text: inout Substring.UTF8View) -> Number? {
        let sign = text.first.flatMap { [UInt8(ascii: "+"), UInt8(ascii: "-")].contains($0) ? $0 : nil }
        let digits = text.dropFirst(sign == nil ? 0 : 1).prefix {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
        guard !digits.isEmpty else { return nil }
        text = text[digits.endIndex...]
        guard let number = UInt64(Substring(digits)) else { return .max }
        return Number(truncatingIfNeeded: sign == UInt8(ascii: "-") ? 0 &- number : number)
    }
}
