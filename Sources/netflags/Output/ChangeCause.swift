// SPDX-License-Identifier: Apache-2.0

import NetlinkRecording
import RoutingModel

/// An event that changed the answer of a target, or a statement about the recording.
struct ChangeCause: Hashable {
    /// The kind of object that changed.
    enum Symbol: Comparable {
        case link, address, route, rule, other, recording
    }

    let time: Recording.Time
    let text: String
    let symbol: Symbol
    /// The notification; `nil` for a statement about the recording.
    var event: Recording.Event?
    /// The statement about the recording; `nil` for a notification.
    var mark: Recording.Mark.Kind?
}

extension ChangeCause {
    init(_ event: Recording.Event) {
        self.init(time: event.time, text: event.description, symbol: event.words.symbol, event: event)
    }
}

// MARK: - JSON

extension ByteBuffer {
    /// Writes the members of a cause.
    mutating func members(_ cause: ChangeCause) {
        let (event, path) = (cause.event, cause.event?.path)
        member("time", cause.time.description)
        member("kind", "\(cause.symbol)")
        member("change", cause.change)
        member("code", cause.code)
        member("interface", event?.words.interface)
        member("prefix", path?.prefix)
        member("table", path?.table)
        member("gateway", path?.gateway)
        member("protocol", path?.origin)
        members(event?.origin)
        member("description", cause.text)
    }

    /// Writes the members `origin`, `port` and `requester`.
    mutating func members(_ origin: Recording.Event.Origin?) {
        member("origin", origin?.word)
        member("port", origin?.port?.number)
        member("requester", object: origin?.requester) { requester, json in
            json.member("certainty", requester.certainty.rawValue)
            json.member("isCut", requester.isCut)
            json.member("processes", objects: requester.processes) { process, json in
                json.member("pid", process.identifier)
                json.member("name", process.name)
                json.member("unit", process.unit)
            }
        }
    }
}

extension ChangeCause {
    /// The change of the subject, or the statement about the recording, as a word.
    fileprivate var change: String? { event?.words.change ?? mark?.word }

    /// The subject and the change in one word, such as `routeRemoved`.
    fileprivate var code: String? {
        change.map { (event?.words.noun ?? "recording") + $0.prefix(1).uppercased() + $0.dropFirst() }
    }
}

extension Recording.Event {
    /// The words for the subject and its change, and the name of the interface; `nil` if there is none.
    fileprivate var words: (symbol: ChangeCause.Symbol, noun: String, change: String, interface: String?) {
        let verb = isRemoval ? "removed" : "added"
        return switch subject {
        case .interface(let name, .appeared): (.link, "link", "added", name)
        case .interface(let name, let change): (.link, "link", "\(change)", name)
        case .address(_, let name): (.address, "address", verb, name)
        case .route(_, _, let name): (.route, "route", verb, name)
        case .rule: (.rule, "rule", verb, nil)
        case .nexthop: (.other, "nexthop", verb, nil)
        case .settings: (.other, "settings", "changed", nil)
        }
    }

    /// The prefix, the table, the gateway and the origin of a route, a rule or an address.
    fileprivate var path: (prefix: String?, table: UInt32?, gateway: IPAddress?, origin: String?)? {
        switch change {
        case .route(let route, _), .removedRoute(let route):
            (route.destination.description, route.table, route.nexthops.first?.gateway, route.originWord)
        case .address(let own), .removedAddress(let own):
            ("\(own.address)/\(own.prefixLength)", nil, nil, nil)
        case .rule(let rule), .removedRule(let rule):
            (rule.destination?.description, rule.table, nil, nil)
        default: nil
        }
    }
}

extension Rule {
    /// The table that the rule looks up; `nil` for a rule with another action.
    fileprivate var table: UInt32? {
        if case .lookup(let table) = action { table } else { nil }
    }
}

extension Recording.Mark.Kind {
    /// The word in JSON: the name of the case.
    fileprivate var word: String { String("\(self)".prefix { $0 != "(" }) }
}
