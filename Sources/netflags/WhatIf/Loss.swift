// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
internal import NetlinkRecording
import RoutingModel

/// The loss of one object that the path to a target uses, and the effect of the loss.
struct Loss {
    /// The kind of the lost object.
    enum Kind: String, CaseIterable {
        case link, carrier, gateway, address, route, rule
    }

    /// The effect of the loss.
    enum Outcome: String {
        /// The answer stays.
        case none
        /// Packets take another path.
        case fallback
        /// Packets cannot leave, or go on to a gateway that does not answer.
        case lost
        /// The effect is not known: the deciding state is not recorded.
        case unknown
    }

    let kind: Kind
    let description: String
    let outcome: Outcome
    let old: Answer
    let new: Answer

    /// Why packets are lost, or which path packets use.
    var reason: String {
        if case .failure(let error) = new { return error.description }
        guard outcome == .lost, new.isReachable == true else { return new.reason }
        return kind == .gateway
            ? "the kernel goes on sending to it" : "the kernel goes on sending some packets to it"
    }
}

/// The output of `netflags what-if --each`: the answer about each target, and a row or a JSON object for each loss.
struct LossFormat {
    let isJSON: Bool
    /// The evaluated recording, a key of the rows; `nil` for none.
    var recording: String?

    /// Removes each object that the paths to targets use, one at a time, and writes the effect.
    ///
    /// - Returns: The exit status.
    func write(
        _ state: NetworkState, _ targets: [NamedTarget], _ options: ReachabilityOptions,
        to buffer: inout ByteBuffer
    ) -> ExitStatus {
        let search = LossSearch(state)
        var status = ExitStatus.success
        for (text, target) in targets {
            let (answer, losses, omitted) = search.losses(of: target, options)
            if omitted > 0 {
                printError(
                    "\(text): \(omitted) more things that it uses were not taken away: give them as changes")
            }
            let failure = isJSON ? answer.failure?.description : nil
            if let error = failure ?? answer.mistake, isJSON || !Output.standard.isTerminal {
                printError("\(text): \(error)")
            }
            if isJSON {
                for loss in losses { write(loss, text, to: &buffer) }
            } else {
                writeTable(text, answer, losses, to: &buffer)
            }
            let isUnknown =
                omitted > 0 || answer.isReachable == nil || answer.mistake != nil
                || losses.contains { $0.outcome == .unknown }
            let isSafe = answer.isReachable == true && losses.allSatisfy { $0.outcome != .lost }
            status = status.worse(ExitStatus(isReachable: isUnknown ? nil : isSafe))
        }
        return status
    }

    /// The row of a recording that could not be read.
    static func errorRow(_ error: String) -> KeyValuePairs<String, String?> {
        let outcome = Loss.Outcome.unknown.rawValue
        return [
            "target": nil, "kind": nil, "description": error, "outcome": outcome, "old": nil, "new": nil,
        ]
    }

    private func write(_ loss: Loss, _ target: String, to buffer: inout ByteBuffer) {
        buffer.line { json in
            if let recording { json.member("recording", recording) }
            json.member("target", target)
            json.member("kind", loss.kind.rawValue)
            json.member("description", loss.description)
            json.member("outcome", loss.outcome.rawValue)
            json.member("old", object: loss.old) { $1.members($0, reason: $0.reason) }
            json.member("new", object: loss.new) { $1.members($0, reason: loss.reason) }
        }
    }

    private func writeTable(_ target: String, _ answer: Answer, _ losses: [Loss], to buffer: inout ByteBuffer)
    {
        buffer.line(printable: "\(target): \(answer.failure?.description ?? answer.reason)")
        var table = TextTable(
            ["  KIND", "DESCRIPTION", "OUTCOME", "REASON"], widths: [9, 0, 8], for: .standard)
        let colours: [Loss.Outcome: Colour] = [.fallback: .green, .lost: .red, .unknown: .green]
        for loss in losses {
            table.add("  \(loss.kind.rawValue)")
            table.add(loss.description)
            table.add(loss.outcome.rawValue, in: colours[loss.outcome])
            if loss.outcome != .none { table.add(loss.reason) }
            table.endRow(isWhole: true)
        }
        table.flush(to: &buffer)
    }
}

/// Removes each object that the paths to targets use, one at a time.
struct LossSearch {
    /// The number of objects, of a given count, that are removed for a target.
    ///
    /// A bridge can have as many ports, and a prefix as many routes, as a recording can hold. Each prediction takes
    /// longer with more entries.
    static func limit(_ count: Int) -> Int {
        count <= 1_000 ? count : 250
    }

    let state: NetworkState
    private let text: DifferenceText

    init(_ state: NetworkState) {
        self.state = state
        text = DifferenceText(state.host.routing.snapshot)
    }

    /// The answer about a target, each loss in the order of the kinds, and the number of objects that were not
    /// removed.
    func losses(
        of target: ReachabilityTarget,
        _ options: ReachabilityOptions
    ) -> (answer: Answer, losses: [Loss], omitted: Int) {
        let explained = Result { () throws(ReachabilityError) in
            try state.source.explained(target, options: options)
        }
        let old = explained.map(\.report)
        let ports = state.host.portsBySettings
        let found = try? explained.get()
        let parts = Parts((found?.entries ?? []) + (found?.outer ?? []), state.host)
        let losses = parts.found.prefix(Self.limit(parts.found.count)).map { part in
            var changed = state
            let new: Answer
            do throws(KernelRefusal) {
                try part.remove(from: &changed.host)
                try changed.host.check(ports)
                new = changed.answers(for: [target], options: options)[0]
            } catch {
                new = .failure(
                    ReachabilityError(.undecided, operation: "take it away", message: error.message))
            }
            let (kind, words) = part.words(text)
            return Loss(
                kind: kind, description: words,
                outcome: outcome(old, new, part) {
                    (try? changed.source.explained(target, options: options))?.outer ?? []
                }, old: old, new: new)
        }
        let ordered = Loss.Kind.allCases.flatMap { kind in losses.filter { $0.kind == kind } }
        return (old, ordered, parts.found.count - losses.count)
    }

    /// The effect of a loss; `outer` has the routes of the tunnels' outer packets after the loss.
    private func outcome(
        _ old: Answer,
        _ new: Answer,
        _ part: Part,
        outer: () -> [Route]
    ) -> Loss.Outcome {
        guard let isReachable = new.isReachable else { return .unknown }
        if !isReachable { return .lost }
        switch part {
        case .gateway(let key) where new.uses(key) || outer().contains { $0.uses(key) }: return .lost
        case .carrier(let index) where new.sendsSome(through: index): return .lost
        default: break
        }
        return new.isSame(as: old) ? .none : .fallback
    }
}

extension Route {
    /// Whether a nexthop has the gateway.
    fileprivate func uses(_ key: Neighbour.Key) -> Bool {
        nexthops.contains { $0.gateway == key.address && $0.interfaceIndex == key.interfaceIndex }
    }
}

extension Answer {
    /// Whether packets go to a gateway, or packets of some connections to the target do.
    fileprivate func uses(_ key: Neighbour.Key) -> Bool {
        guard let report else { return false }
        if report.gateway?.withoutZone == key.address, report.interface?.index == key.interfaceIndex {
            return true
        }
        return several.contains { $0.gateway == key.address && $0.interfaceIndex == key.interfaceIndex }
    }

    /// Whether the kernel's hash sends packets of some connections through an interface without a carrier.
    fileprivate func sendsSome(through index: UInt32) -> Bool {
        several.contains {
            $0.interfaceIndex == index && $0.flags.contains(.linkDown) && !$0.flags.contains(.dead)
        }
    }

    /// The nexthops of the multipath routes.
    private var several: [NetworkRoute.Nexthop] {
        let findings = report?.findings ?? []
        return Array(findings.compactMap(\.route?.nexthops).filter { $0.count > 1 }.joined())
    }
}

/// An object that the path to a target uses.
private enum Part: Hashable {
    case link(UInt32)
    case carrier(UInt32)
    case gateway(Neighbour.Key)
    case address(InterfaceAddress)
    case route(Route)
    case rule(Rule)

    func words(_ text: DifferenceText) -> (kind: Loss.Kind, description: String) {
        switch self {
        case .link(let index): (.link, text.name(index))
        case .carrier(let index): (.carrier, text.name(index))
        case .gateway(let key): (.gateway, "\(key.address) on \(text.name(key.interfaceIndex))")
        case .address(let address): (.address, text.words(address))
        case .route(let route): (.route, text.words(route))
        case .rule(let rule): (.rule, rule.description)
        }
    }

    func remove(from host: inout HostState) throws(KernelRefusal) {
        switch self {
        case .link(let index): host.removeInterface(index)
        case .carrier(let index): host.setCarrier(index, false)
        case .gateway(let key):
            let neighbour = Neighbour(
                interfaceIndex: key.interfaceIndex, address: key.address, state: .failed)
            host.apply(.neighbour(neighbour), .settings)
        case .address(let address): try host.checkedRemove(address)
        case .route(let route): host.remove(route)
        case .rule(let rule): host.apply(.removedRule(rule), .rule)
        }
    }
}

/// The objects that the paths to several addresses use, each once.
private struct Parts {
    private(set) var found: [Part] = []
    private var known: Set<Part> = []

    init(_ routes: [Route], _ host: HostState) {
        for route in routes {
            add(.route(route))
            for nexthop in route.nexthops { add(nexthop, host, route.destination.family) }
            for rule in host.routing.snapshot.rules
            where rule.family == route.destination.family && rule.action == .lookup(table: route.table) {
                add(.rule(rule))
            }
        }
    }

    private mutating func add(_ part: Part) {
        if known.insert(part).inserted { found.append(part) }
    }

    private mutating func add(_ nexthop: Nexthop, _ host: HostState, _ family: IPAddress.Family) {
        let snapshot = host.routing.snapshot
        if let link = snapshot.links[nexthop.interfaceIndex] {
            for link in [link] + ((try? host.routing.lowers(of: link)) ?? []) { add(link, snapshot.links) }
        }
        if let key = nexthop.neighbour { add(.gateway(key)) }
        for address in snapshot.addresses(ofInterface: nexthop.interfaceIndex, family: family) {
            add(.address(address))
        }
    }

    /// Adds an interface, and the interfaces that it consists of.
    private mutating func add(_ link: Link, _ links: LinkTable) {
        var open = [link]
        while let link = open.popLast() {
            guard !known.contains(.link(link.index)) else { continue }
            add(.link(link.index))
            if !link.flags.contains(.loopback) { add(.carrier(link.index)) }
            open += links.ports(of: link.index).sorted(by: >).compactMap { links[$0] }
        }
    }
}
