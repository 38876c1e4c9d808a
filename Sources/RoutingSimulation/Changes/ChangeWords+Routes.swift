// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Routes.

extension ChangeWords {
    private static let routeWords =
        "via GATEWAY, dev NAME, metric NUMBER, table TABLE, src ADDRESS, tos NUMBER, proto NUMBER, scope SCOPE, "
        + "nhid NUMBER, pref PREFERENCE, mtu NUMBER, onlink, or nexthop via GATEWAY dev NAME weight NUMBER"

    mutating func routeActions() throws(KernelRefusal) -> [HostChange.Action] {
        let verbs = ["add", "append", "prepend", "change", "chg", "replace", "delete", "flush"]
        let word = try take("a command", among: verbs, isAbbreviated: true)
        if word == "flush" { return try routeFlush() }
        let verb = HostChange.Verb(rawValue: word) ?? .change
        let type = takeRouteType()
        if let word = next, ["local", "broadcast", "multicast", "anycast", "nat"].contains(word) {
            throw Self.unknown(
                word, "a type of \(HostChange.routeTypes.keys.sorted().joined(separator: ", "))")
        }
        _ = skip("to")
        let text = try take("the destination")
        // The gateway says the family of a default route.
        if family == nil, text == "default", words.contains(where: { $0.contains(":") }) { family = .v6 }
        var request = HostChange.RouteRequest(destination: try wholePrefix(text))
        family = request.destination.family
        request.type = type
        var only = HostChange.RouteRequest.Nexthop()
        while let word = take() {
            if word == "nexthop" {
                request.isMultipath = true
                request.nexthops.append(try nexthop())
            } else if try !take(word, of: &only), try !take(word, of: &request),
                try !takeMetric(word, isRemoval: verb == .delete)
            {
                throw Self.unknown(word, Self.routeWords)
            }
        }
        if only != HostChange.RouteRequest.Nexthop() {
            guard request.nexthops.isEmpty else {
                throw .unknown("a route has either via and dev, or nexthop")
            }
            request.nexthops = [only]
        }
        return [.route(verb, request)]
    }

    private mutating func takeRouteType() -> RouteType? {
        let type = next.flatMap { HostChange.routeTypes[$0] }
        if type != nil { words.removeFirst() }
        return type
    }

    /// A prefix without bits behind its length.
    private func wholePrefix(_ text: String) throws(KernelRefusal) -> IPPrefix {
        let prefix = try prefix(text)
        if let given = IPAddress(String(text.prefix { $0 != "/" })), text.contains("/"),
            prefix.address != given
        {
            throw .unknown("\"\(text)\" has bits after its prefix: give \(prefix)")
        }
        return prefix
    }

    /// Takes a word of a nexthop.
    private mutating func take(
        _ word: String,
        of nexthop: inout HostChange.RouteRequest.Nexthop
    ) throws(KernelRefusal) -> Bool {
        switch word {
        case "via":
            guard nexthop.gateway == nil else {
                throw .unknown("via is given twice: give nexthop via GATEWAY for each")
            }
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
        case "table": request.table = try takeRouteTable()
        case "src": request.preferredSource = try takeAddress(word)
        case "tos", "dsfield": request.tos = try takeNumber(word)
        case "nhid": request.nexthopID = try takeNumber(word)
        case "scope": request.scope = try takeScope()
        case "pref":
            let names: [String: RouterPreference] = ["low": .low, "medium": .medium, "high": .high]
            request.preference = names[try take("the preference", among: names.keys.sorted())]
        case "expires": throw Self.lifetime(word)
        case "proto", "protocol": request.origin = try takeOrigin(word)
        default: return false
        }
        return true
    }

    private mutating func takeRouteTable() throws(KernelRefusal) -> UInt32 {
        let table = try takeTable()
        return table == 0 ? Route.mainTable : table
    }

    /// Takes what the kernel keeps with a route for connections, and what decides no path.
    private mutating func takeMetric(_ word: String, isRemoval: Bool) throws(KernelRefusal) -> Bool {
        let known = [
            "mtu", "advmss", "initcwnd", "initrwnd", "cwnd", "ssthresh", "window", "hoplimit", "reordering",
            "quickack", "rtt", "rttvar", "rto_min",
        ]
        guard known.contains(word) else { return false }
        guard !isRemoval else { throw .unknown("\(word) is unknown in a route to be removed: leave it out") }
        _ = skip("lock")
        var text = try take("the number after \(word)")[...]
        if word.hasPrefix("rt") { text = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") } }
        guard UInt32(changeText: text) != nil || word.hasPrefix("rt") && Double(text) != nil else {
            throw .unknown("\"\(text)\" after \(word) is not a number")
        }
        return true
    }

    // MARK: Flushes

    private mutating func routeFlush() throws(KernelRefusal) -> [HostChange.Action] {
        let known = "table TABLE, dev NAME, via GATEWAY, proto NUMBER, scope SCOPE, a type, or a prefix"
        guard next != nil else { throw .unknown("flush needs \(known)") }
        // The cache of routes holds no route.
        if skip("cache") { return [] }
        var flush = HostChange.RouteFlush(family: family ?? .v4)
        family = flush.family
        while let word = take() {
            switch word {
            case "table": flush.table = try takeRouteTable()
            case "dev", "oif": flush.device = try take("an interface")
            case "via": flush.gateway = try takeAddress(word)
            case "proto", "protocol": flush.origin = try takeOrigin(word)
            case "scope": flush.scope = try takeScope()
            case "type":
                flush.type =
                    HostChange.routeTypes[try take("the type", among: HostChange.routeTypes.keys.sorted())]
            case "root":
                flush.prefix = try wholePrefix(try take("the prefix after root"))
                flush.isRoot = true
            case "to", "exact": flush.prefix = try wholePrefix(try take("the prefix"))
            default:
                guard let prefix = try? wholePrefix(word), flush.prefix == nil else {
                    throw Self.unknown(word, known)
                }
                flush.prefix = prefix
            }
        }
        return [.flushRoutes(flush)]
    }
}
