// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

// Changes of routes.

extension ChangeWords {
    private static let routeWords =
        "via GATEWAY, dev NAME, metric NUMBER, table TABLE, src ADDRESS, tos NUMBER, proto NUMBER, scope SCOPE, "
        + "nhid NUMBER, pref PREFERENCE, mtu NUMBER, onlink, or nexthop via GATEWAY dev NAME weight NUMBER"

    mutating func routeActions() throws(KernelRefusal) -> [HostChange.Action] {
        let verbs = ["add", "append", "prepend", "change", "chg", "replace", "delete", "flush"]
        let word = try read("a command", among: verbs, isAbbreviated: true)
        if word == "flush" { return try routeFlush() }
        let verb = HostChange.Verb(rawValue: word) ?? .change
        var request = HostChange.RouteRequest(destination: .allV4)
        var isNamed = false
        var only = HostChange.RouteRequest.Nexthop()
        while let word = read() {
            if word == "nexthop" {
                request.isMultipath = true
                request.nexthops.append(try nexthop())
            } else if try !read(word, of: &only), try !read(word, of: &request),
                try !readMetric(word, isRemoval: verb == .delete)
            {
                guard !isNamed else { throw Self.unknown(word, Self.routeWords) }
                isNamed = true
                try readDestination(word, of: &request)
            }
        }
        guard isNamed else { throw .unknown("the destination is missing") }
        // The gateway or the source decides the family of a default route.
        if request.destination.isDefault, family == .v6 { request.destination = .allV6 }
        family = request.destination.family
        if only != HostChange.RouteRequest.Nexthop() {
            try require(request.nexthops.isEmpty, "a route has either via and dev, or nexthop")
            request.nexthops = [only]
        }
        return [.route(verb, request)]
    }

    /// Reads the destination, with the type before it.
    private mutating func readDestination(
        _ first: String,
        of request: inout HostChange.RouteRequest
    ) throws(KernelRefusal) {
        var word = first == "to" ? try read("the destination") : first
        if word.first?.isWholeNumber != true, let type = Self.routeType(word) {
            guard let known = HostChange.routeTypes[type] else {
                throw Self.unknown(
                    word, "a type of \(HostChange.routeTypes.keys.sorted().joined(separator: ", "))")
            }
            request.type = known
            word = try read("the destination")
        }
        if let prefix = try wholePrefix(word) {
            request.destination = prefix
            family = prefix.family
        }
    }

    /// The type of a route or a rule that a word or its abbreviation names (`rtnl_rtntype_a2n`).
    static func routeType(_ word: String) -> String? {
        if ["local", "nat", "brd", "throw"].contains(word) { return word }
        let types = [
            "broadcast", "anycast", "multicast", "prohibit", "unreachable", "blackhole", "xresolve",
            "unicast",
        ]
        return types.first { $0.hasPrefix(word) }
    }

    /// Reads a word of a nexthop.
    private mutating func read(
        _ word: String,
        of nexthop: inout HostChange.RouteRequest.Nexthop
    ) throws(KernelRefusal) -> Bool {
        switch word {
        case "via":
            try require(nexthop.gateway == nil, "via is given twice: give nexthop via GATEWAY for each")
            let gateway = try readAddress(word, readFamily() ?? family)
            (nexthop.gateway, family) = (gateway, family ?? gateway.family)
        case "dev", "oif": nexthop.device = try read("an interface")
        case "onlink": nexthop.isOnLink = true
        default: return false
        }
        return true
    }

    /// Reads the family that may come before a gateway.
    private mutating func readFamily() -> IPAddress.Family? {
        skip("inet") ? .v4 : skip("inet6") ? .v6 : nil
    }

    private mutating func nexthop() throws(KernelRefusal) -> HostChange.RouteRequest.Nexthop {
        var nexthop = HostChange.RouteRequest.Nexthop()
        while let word = next, word != "nexthop" {
            words.removeFirst()
            if word == "weight" {
                let weight: UInt16 = try readNumber(word)
                guard (1...256).contains(weight) else { throw .unknown("a weight is from 1 to 256") }
                nexthop.weight = weight
            } else if try !read(word, of: &nexthop) {
                throw Self.unknown(word, "via GATEWAY, dev NAME, weight NUMBER, onlink or nexthop")
            }
        }
        return nexthop
    }

    /// Reads a word of the route itself.
    private mutating func read(
        _ word: String,
        of request: inout HostChange.RouteRequest
    ) throws(KernelRefusal) -> Bool {
        switch word {
        case "src":
            let source = try readAddress(word, family)
            (request.preferredSource, family) = (source, family ?? source.family)
        case _ where word == "tos" || "dsfield".hasPrefix(word): request.tos = try readTypeOfService(word)
        case "expires": throw Self.lifetime(word)
        case _ where ["metric", "priority"].contains { $0.hasPrefix(word) } || word == "preference":
            request.metric = try readNumber(word)
        case "scope": request.scope = try readScope()
        case "nhid": request.nexthopID = try readNumber(word)
        case _ where "protocol".hasPrefix(word): request.origin = try readOrigin(word)
        case _ where "table".hasPrefix(word): request.table = try readRouteTable()
        case "pref":
            // The kernel treats a number without a preference as medium.
            let names: [String: RouterPreference] = ["low": .low, "medium": .medium, "high": .high]
            let number: UInt8 = try readNumber(word, names: names.mapValues(\.rawValue))
            request.preference = RouterPreference(rawValue: number) ?? .medium
        default: return false
        }
        return true
    }

    private mutating func readRouteTable() throws(KernelRefusal) -> UInt32 {
        let table = try readTable()
        return table == 0 ? Route.mainTable : table
    }

    /// Reads metrics that the kernel stores for connections, which do not affect the path.
    private mutating func readMetric(_ word: String, isRemoval: Bool) throws(KernelRefusal) -> Bool {
        let whole = ["mtu", "hoplimit", "advmss", "rtt", "rto_min"]
        let short = [
            "reordering", "window", "cwnd", "initcwnd", "initrwnd", "quickack", "rttvar", "ssthresh",
        ]
        guard let metric = whole.first(where: { $0 == word }) ?? short.first(where: { $0.hasPrefix(word) })
        else { return false }
        guard !isRemoval else { throw .unknown("\(word) is unknown in a route to be removed: leave it out") }
        if !["rto_min", "quickack"].contains(metric) { _ = skip("lock") }
        guard !metric.hasPrefix("rt") else {
            try readTime(word)
            return true
        }
        let limit: UInt32 = ["hoplimit": 255, "quickack": 1][metric] ?? .max
        let number: UInt32 = try readNumber(word)
        guard number <= limit else { throw .unknown("\(metric) is at most \(limit)") }
        return true
    }

    /// Reads a time in seconds or milliseconds.
    private mutating func readTime(_ word: String) throws(KernelRefusal) {
        let text = try read("the time after \(word)")
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let units = ["", "s", "sec", "secs", "ms", "msec", "msecs"]
        guard Double(number) != nil, units.contains(String(text.dropFirst(number.count))) else {
            throw .unknown("\"\(text)\" after \(word) is not a time such as 100ms")
        }
    }

    // MARK: Flushes

    private mutating func routeFlush() throws(KernelRefusal) -> [HostChange.Action] {
        let known = "table TABLE, dev NAME, via GATEWAY, proto NUMBER, scope SCOPE, a type, or a prefix"
        guard next != nil else { throw .unknown("flush needs \(known)") }
        // The route cache contains no routes.
        if skip("cache") { return [] }
        var flush = HostChange.RouteFlush(family: family ?? .v4)
        while let word = read() {
            switch word {
            case _ where "table".hasPrefix(word): flush.table = try readRouteTable()
            case _ where "protocol".hasPrefix(word):
                flush.origin = skip("all") ? nil : try readOrigin(word)
            case _ where "scope".hasPrefix(word): flush.scope = skip("all") ? nil : try readScope()
            case _ where "type".hasPrefix(word):
                let known = HostChange.routeTypes.merging(Self.ownTypes) { old, _ in old }
                let type = try read("the type")
                flush.type = Self.routeType(type).flatMap { known[$0] }
                guard flush.type != nil else {
                    throw Self.unknown(type, "one of \(known.keys.sorted().joined(separator: ", "))")
                }
            case "dev", "oif": flush.device = try read("an interface")
            case "via":
                flush.gateway = try readFilter(word, readFamily() ?? family)
                guard flush.gateway != nil else { throw .unknown("the gateway is missing after via") }
            default:
                let start = "to".hasPrefix(word) ? try read("the prefix") : word
                flush.isRoot = "root".hasPrefix(start)
                if flush.isRoot || "exact".hasPrefix(start) {
                    flush.prefix = try readFilter(start, family)
                } else {
                    words = [start] + words
                    do {
                        flush.prefix = try readFilter(word, family)
                    } catch {
                        throw Self.unknown(start, known)
                    }
                }
            }
        }
        return [.flushRoutes(flush)]
    }

    private static let ownTypes: [String: RouteType] = [
        "local": .local, "broadcast": .broadcast, "anycast": .anycast, "multicast": .multicast,
    ]

    /// Reads a prefix that routes are compared with, including its host bits; `nil` for `all` and `any` without a
    /// family, with which ip(8) compares nothing.
    private mutating func readFilter(
        _ word: String,
        _ family: IPAddress.Family?
    ) throws(KernelRefusal) -> IPPrefix? {
        let text = try read("the prefix after \(word)")
        guard let (address, length) = try prefix(text, family) else {
            return family == nil && text != "default" ? nil : family == .v6 ? .allV6 : .allV4
        }
        return IPPrefix(address, length: length ?? address.family.bitWidth)
    }
}
