// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Rules.

extension ChangeWords {
    private static let ruleWords =
        "pref, not, from, to, fwmark, iif, oif, uidrange, ipproto, sport, dport, tos, l3mdev, lookup, goto, "
        + "suppress_prefixlength, suppress_ifgroup, protocol, blackhole, unreachable, prohibit or nop"

    mutating func ruleAction() throws(KernelRefusal) -> HostChange.Action {
        let command = try take("a command", among: ["add", "delete", "flush"], isAbbreviated: true)
        if family == nil { family = .v4 }
        guard command != "flush" else { return .flushRules(family ?? .v4) }
        guard next != nil else { throw .unknown("a rule is missing: give \(Self.ruleWords)") }
        let isAdded = command == "add"
        var request = HostChange.RuleRequest(
            rule: Rule(family: family ?? .v4, priority: 0, action: .lookup(table: Route.mainTable)))
        while let word = take() {
            if try !takeSelector(word, &request.rule) { try takeAction(word, &request, isAdded) }
        }
        if request.rule.isL3MDev, isAdded {
            guard !request.hasAction else {
                throw .unknown("l3mdev and a table or another action exclude each other")
            }
            request.rule.action = .lookup(table: 0)
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
        case "l3mdev": rule.isL3MDev = true
        case "suppress_prefixlength", "sup_pl": rule.suppressedPrefixLength = try takeNumber(word)
        case "suppress_ifgroup", "sup_group":
            rule.suppressedGroup = try takeNumber(word, names: ["default": 0])
        case "uidrange": rule.users = try takeRange(word, isPair: true)
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

    /// A prefix that a rule selects; `nil` for one that takes all addresses.
    private mutating func takeSelectedPrefix(_ what: String) throws(KernelRefusal) -> IPPrefix? {
        let text = try take("the prefix after \(what)")
        if family == .v4, IPPrefix(text)?.family == .v6 {
            throw .unknown("the kernel refuses \"\(text)\" in an IPv4 rule: begin the change with -6")
        }
        let prefix = try prefix(text)
        return prefix.isDefault ? nil : prefix
    }

    private mutating func takeAction(
        _ word: String,
        _ request: inout HostChange.RuleRequest,
        _ isAdded: Bool
    ) throws(KernelRefusal) {
        switch word {
        case _ where ["preference", "order", "priority"].contains(where: { $0.hasPrefix(word) }):
            request.rule.priority = try takeNumber(word)
            request.hasPriority = true
            return
        case "proto", "protocol":
            _ = try takeOrigin(word)
            request.hasOrigin = true
            guard isAdded else { throw .unknown("\(word) is unknown in a rule to be removed: give its pref") }
            return
        case "type":
            let types = ["unicast", "goto", "nop", "blackhole", "unreachable", "prohibit"]
            let type = try take("the type", among: types)
            return try takeAction(type, &request, isAdded)
        case "lookup", "table": request.rule.action = .lookup(table: try takeTable())
        // The type of a rule that looks a table up, which is given by itself.
        case "unicast": return
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
        _ word: String,
        isPair: Bool = false
    ) throws(KernelRefusal) -> ClosedRange<Number> {
        let text = try take("the range after \(word)")
        let parts = text.split(separator: "-").map { Number(changeText: $0) }
        guard ((isPair ? 2 : 1)...2).contains(parts.count), let first = parts[0],
            let last = parts.last ?? nil,
            first <= last
        else { throw .unknown("\"\(text)\" after \(word) is not a range such as 1000-1999") }
        return first...last
    }
}
