// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import RoutingModel
import SystemSupport

/// JSON Lines: one object for each target, each on a line of its own.
struct JSONFormat: LineFormat {
    let explains: Bool

    func write(_ line: TargetLine, to buffer: inout ByteBuffer) {
        let report = line.outcome?.report
        buffer.line { json in
            json.member("target", line.target)
            json.members(line.flags)
            json.member("address", report?.address)
            json.pathMembers(
                report?.interface, report?.gateway, report?.reason, line.reason, line.outcome?.failure)
            if let time = line.time { json.member("time", time.description) }
            if explains { json.explanation(of: report) }
            if explains && line.time == nil || line.evidence != nil {
                json.evidence(try? line.evidence?.get())
            }
            // The lines of check have no time.
            if explains, line.time != nil {
                json.member("cause", object: line.causes.count == 1 ? line.causes[0] : nil) { $1.members($0) }
                if line.causes.count > 1 {
                    json.member("possibleCauses", objects: line.causes) { $1.members($0) }
                }
            }
        }
    }

    /// Writes nothing: no line is kept.
    func flush(to buffer: inout ByteBuffer) {}
}

extension ByteBuffer {
    /// Writes the members `flags`, `rawValue`, `letters` and `reachable`.
    mutating func members(_ flags: ReachabilityFlags) {
        members(flags, reachable: isNetworkReachable(flags: flags))
    }

    /// Writes the members `flags`, `rawValue`, `letters` and `reachable`; `reachable` is null if it is not known.
    mutating func members(_ flags: ReachabilityFlags, reachable: Bool?) {
        member("flags", flags.names)
        member("rawValue", flags.rawValue)
        member("letters", flags.letters)
        member("reachable", reachable)
    }
}

extension ByteBuffer {
    /// Writes the members from `interface` to `error`, which each answer has.
    ///
    /// - Parameters:
    ///   - interface: The outgoing interface.
    ///   - hasType: Whether the type of the interface is one of the members.
    ///   - gateway: The gateway.
    ///   - reason: The reason, for its code; `nil` without an answer.
    ///   - words: The text of the member `reason`.
    ///   - error: Why there is no answer.
    mutating func pathMembers(
        _ interface: NetworkInterface?, hasType: Bool = true, _ gateway: IPAddress?,
        _ reason: ReachabilityReason?, _ words: String, _ error: ReachabilityError?
    ) {
        member("interface", interface?.name)
        if hasType { member("interfaceType", interface?.type.rawValue) }
        member("gateway", gateway)
        member("code", reason?.code.description)
        member("reason", words)
        member("error", error?.description)
    }
}

// MARK: - Explanations

extension ByteBuffer {
    /// Writes the members that `--explain` adds, with null and an empty array when there is no report.
    fileprivate mutating func explanation(of report: ReachabilityReport?) {
        member("sourceAddress", report?.sourceAddress)
        member("connect", object: report?.connectResult) { $1.members($0) }
        member("returns", object: report?.returns) { returns, json in
            json.member("delivered", returns.isDelivered)
            json.member("code", returns.arrival?.reason.code.description)
            json.member("reason", returns.description)
        }
        member("rules", object: report?.rules) { rules, json in
            json.member("priority", rules.deciding?.priority)
            json.member("rule", rules.deciding?.words)
            json.member("table", rules.table)
            json.member("passed", rules.passed.map(\.description))
            json.member("undecided", rules.undecided.map(\.description))
        }
        member("mtu", object: report?.pathMTU) { learned, json in
            json.member("mtu", learned.mtu)
            json.member("seconds", learned.seconds)
        }
        member("explanation", objects: report?.findings ?? []) { $1.members($0) }
        carriers(report?.carriers ?? [])
    }

    /// Writes the member `evidence`, which is null if there is no evidence.
    mutating func evidence(_ evidence: NetworkEvidence?) {
        member("evidence", object: evidence) { evidence, json in
            json.member("verdict", evidence.verdict.rawValue)
            json.member("seconds", evidence.age)
            json.member("connections", evidence.connections)
            json.member("remotes", evidence.remotes)
            json.member("tries", evidence.tries)
            json.member("gateway", evidence.gateway.rawValue)
        }
    }

    /// Writes the member `carriers`, which only answers through tunnels have.
    mutating func carriers(_ carriers: [TunnelCarrier]) {
        guard !carriers.isEmpty else { return }
        member("carriers", objects: carriers) { carrier, json in
            json.member("tunnel", carrier.tunnel.name)
            json.member("interface", carrier.interface?.name)
            json.member("interfaceType", carrier.interface?.type.rawValue)
            json.member("evidence", carrier.evidence.rawValue)
            json.member("isExact", carrier.isExact)
            json.member("mark", carrier.mark)
            json.member("remote", carrier.remote)
            json.member("canSend", carrier.evidence == .unknown ? nil : carrier.flags.rank == 2)
            json.member("code", carrier.reason?.code.description)
            json.member("reason", carrier.reason?.description)
        }
    }

    private mutating func members(_ result: ReachabilityReport.ConnectResult) {
        let source: IPAddress? = if case .connects(let address) = result { address } else { nil }
        let number: Int32? = if case .refused(let errno) = result { errno } else { nil }
        member("sourceAddress", source)
        member("error", object: number) { $1.error($0) }
    }

    private mutating func error(_ number: Int32) {
        member("number", number)
        member("message", SystemCallError.message(number))
    }

    private mutating func members(_ finding: ReachabilityReport.Finding) {
        member("address", finding.address)
        member("letters", finding.flags.letters)
        member("rawValue", finding.flags.rawValue)
        member("code", finding.reason.code.description)
        member("reason", finding.reason.description)
        member("kernelError", object: finding.kernelError) { $1.error($0) }
        member("route", object: finding.route) { $1.members($0) }
        member("interface", object: finding.interface) { $1.members($0, finding.interfaceState) }
    }

    /// Writes the members of a route.
    mutating func members(_ route: NetworkRoute) {
        member("prefix", route.destination.description)
        for attribute in route.attributes { member(attribute.key, attribute.value) }
        member("nexthops", objects: route.nexthops) { nexthop, json in
            json.member("interfaceIndex", nexthop.interfaceIndex ?? 0)
            json.member("gateway", nexthop.gateway)
            json.member("encapsulation", nexthop.encapsulation)
            json.member("weight", nexthop.weight)
            json.member("flags", nexthop.flags.words)
        }
    }

    private mutating func members(_ interface: NetworkInterface, _ state: NetworkInterface.State?) {
        member("name", interface.name)
        member("index", interface.index)
        member("type", interface.type.rawValue)
        member("kind", state?.kind)
        member("up", state?.isUp)
        member("lowerUp", state?.isLowerUp)
        member("operationalState", state?.operationalState)
    }
}

extension NetworkRoute.Attribute.Value: JSONConvertible {
    func writeJSON(to json: inout ByteBuffer) {
        switch self {
        case .number(let number): number.writeJSON(to: &json)
        case .text(let text): text.writeJSON(to: &json)
        }
    }
}
