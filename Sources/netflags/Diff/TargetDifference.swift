// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
internal import NetlinkRecording
import RoutingModel
import SystemSupport

/// The answers of two states of a network about a target, and why they differ.
struct TargetDifference {
    /// A target, and the socket of the query.
    struct Query: Hashable {
        let text: String
        let target: ReachabilityTarget
        var options = ReachabilityOptions()
        /// Whether a user named the target.
        var isNamed = false
        /// The family, for a query about the default path of one family that the user did not request; `nil`
        /// otherwise.
        var family: IPAddress.Family?

        /// The text of the target with the family.
        var label: String {
            family.map { "\(text) (\($0))" } ?? text
        }
    }

    let query: Query
    let old: Answer
    let new: Answer
    /// The unknown facts that the new answer depends on, besides the predicted tables.
    var openChoices: [String] = []
    /// The differences that the answers depend on; empty if they are not known.
    var causes: [NetworkDifference] = []

    /// The interfaces whose packets are lost while other packets to the target still leave.
    var lostPaths: [String] = []
    /// Whether the causes were not searched, because there are too many differences.
    var hasTooManyCauses = false

    /// Whether the flags, the interface or the gateway differ, or some packets are lost.
    var isDifferent: Bool { !old.isSame(as: new) || !lostPaths.isEmpty }

    /// Whether both answers equal the answers of another target.
    func isSame(as other: TargetDifference) -> Bool {
        old.isSame(as: other.old) && new.isSame(as: other.new)
    }

    /// Whether an answer is missing: a recording does not decide it or cannot be queried, or a name is mistyped.
    var isUndetermined: Bool { old.isReachable == nil || new.isReachable == nil || mistake != nil }

    /// The message about a named interface that exists in neither state; `nil` for other answers.
    var mistake: String? { old.mistake == nil ? nil : new.mistake }

    /// Prints the error on standard error, unless the user sees it in the lines.
    ///
    /// - Parameter recording: The recording of the states; `nil` if there is only one.
    func printMistake(of recording: String? = nil) {
        guard let mistake, !Output.standard.isTerminal else { return }
        printError("\(recording.map { "\($0): " } ?? "")\(query.text): \(mistake)")
    }
}

// MARK: - Finding

/// Two recorded states of a network, and the queries that compare them.
struct RecordedComparison {
    /// The most networks that are compared if the user names no target.
    static let networkLimit = 100

    private let old: RecordedRouting
    private let new: RecordedRouting
    private let comparison: NetworkComparison
    /// Whether the new state was computed from the old state, so that only the change explains a difference.
    private let isPrediction: Bool
    let text: DifferenceText

    init(_ old: RecordedRouting, _ new: RecordedRouting, isPrediction: Bool = false) {
        self.isPrediction = isPrediction
        comparison = NetworkComparison(old.routing, new.routing)
        self.old = old.showing(comparison.old)
        self.new = new
        text = DifferenceText(comparison.old.snapshot, comparison.new.snapshot)
    }

    /// Evaluates a target in both states, and finds the causes of a difference.
    func compare(_ query: TargetDifference.Query) -> TargetDifference {
        let (old, new) = (Reading(query, self.old), Reading(query, self.new))
        var found = TargetDifference(query: query, old: old.answer, new: new.answer)
        if found.new.isReachable != false {
            let silent = new.silentInterfaces.subtracting(old.silentInterfaces)
            found.lostPaths = silent.sorted().map(text.name)
        }
        guard found.isDifferent, !found.isUndetermined else { return found }
        if isPrediction {
            let choices = new.queries.map { self.new.routing.snapshot.openChoices(for: $0) }
            found.openChoices = Set(choices.joined()).sorted()
        }
        guard comparison.findsCauses else {
            found.hasTooManyCauses = true
            return found
        }
        let only = isPrediction ? comparison.onlyCause : nil
        found.causes = only.map { [$0] } ?? comparison.causes(of: old.queries.union(new.queries))
        return found
    }

    /// Who requested a change, if the recording of the new state shows it after the old state.
    func origin(of difference: NetworkDifference) -> Recording.Event.Origin? {
        // The state of a route is the kernel's own doing, and its order is that of the program that added it again.
        if let route = difference.route, !route.isOrder, route.old?.identity == route.new?.identity {
            return nil
        }
        guard let change = difference.change, let time = old.time else { return nil }
        return new.origins?.origin(of: change, after: time)
    }

    /// The answer of a state, and the lookups that it was computed from.
    private struct Reading {
        let answer: Answer
        let queries: Set<RouteQuery>
        /// The interfaces without a carrier through which some packets of the lookups are sent.
        let silentInterfaces: Set<UInt32>

        init(_ query: TargetDifference.Query, _ state: RecordedRouting) {
            var trace = AnswerTrace([NetworkQuery.report(of: query.target, options: query.options, .brief)])
            trace.evaluate([0], on: state)
            answer =
                trace.answer(to: 0)
                ?? .failure(ReachabilityError(.undecided, operation: "evaluate \(query.text)"))
            queries = trace.routeQueries(of: 0)
            silentInterfaces = queries.reduce(into: []) {
                $0.formUnion(state.routing.snapshot.silentInterfaces(for: $1))
            }
        }
    }

    // MARK: Output

    /// The most effects that are written.
    private static let effectLimit = 20

    /// Writes a line for each link, address, route and rule that differs, except for routes of local addresses.
    func writeEffects(to buffer: inout ByteBuffer) {
        let effects = comparison.differences.filter { !$0.isAside }
        for effect in effects.prefix(Self.effectLimit) {
            buffer.line(printable: text.words(effect).sentence)
        }
        guard effects.count > Self.effectLimit else { return }
        buffer.append("and \(effects.count - Self.effectLimit) more\n")
    }

    /// Prints the targets that differ.
    ///
    /// - Parameters:
    ///   - named: The targets. If there are none, those of ``queries(_:)``.
    ///   - options: The socket of the queries.
    ///   - others: Additional addresses to compare if the user names no target.
    ///   - format: The format of the output.
    /// - Returns: The exit status.
    /// - Throws: A ``FileFailure`` if the output cannot be written.
    func print(
        _ named: [NamedTarget],
        _ options: ReachabilityOptions,
        beside others: [IPAddress] = [],
        _ format: DifferenceFormat
    ) throws -> ExitStatus {
        let (queries, omitted) = queries(options, named, beside: others)
        if omitted > 0 { printError(Self.omission(omitted)) }
        var progress = ProgressLine(total: queries.count)
        defer { progress.erase() }
        return try forEachDifference(queries) { count in
            progress.show(count)
        } _: { found in
            progress.erase()
            try Output.standard.deliver { format.write(found, to: &$0) }
            found.printMistake()
        }
    }

    /// The message about networks that were not compared.
    static func omission(_ count: Int) -> String {
        "\(count) more networks differ and were not compared: give targets in them"
    }

    /// Compares targets, and calls the body for each that differs or could not be evaluated.
    ///
    /// - Parameters:
    ///   - queries: The targets.
    ///   - willCompare: Called before each target, with its position.
    ///   - body: Receives a difference.
    /// - Returns: The exit status.
    /// - Throws: The error of the body.
    func forEachDifference(
        _ queries: [TargetDifference.Query],
        willCompare: (Int) -> Void = { _ in },
        _ body: (TargetDifference) throws -> Void
    ) rethrows -> ExitStatus {
        var status = ExitStatus.success
        var paths: [TargetDifference] = []
        for (count, query) in queries.enumerated() {
            willCompare(count)
            let found = compare(query)
            guard found.isDifferent || found.isUndetermined else { continue }
            // The default path repeats that of one family, so equal differences are skipped. A mistyped interface
            // name affects all targets, so it is reported once for those that the user did not name.
            let isRepeated = query.family != nil && paths.contains { $0.isSame(as: found) }
            guard !isRepeated, found.mistake == nil || query.isNamed || count == 0 else { continue }
            if query.target == .defaultPath { paths.append(found) }
            status = status.worse(found.isUndetermined ? .undetermined : .unreachable)
            try body(found)
        }
        return status
    }

    // MARK: Targets

    /// The queries about targets.
    ///
    /// If the user names none, they are about the default path, the default path of each family, and an address of
    /// each network whose routes, rules or addresses differ.
    ///
    /// - Parameters:
    ///   - options: The socket of the queries.
    ///   - named: The targets.
    ///   - others: Additional addresses to compare if the user names no target.
    /// - Returns: The queries, and the number of omitted networks.
    func queries(
        _ options: ReachabilityOptions, _ named: [NamedTarget] = [], beside others: [IPAddress] = []
    ) -> (queries: [TargetDifference.Query], omitted: Int) {
        guard named.isEmpty else {
            return (named.map { .init(text: $0, target: $1, options: options, isNamed: true) }, 0)
        }
        var queries = [
            TargetDifference.Query(text: "default", target: .defaultPath, options: options)
        ]
        if options.families == .all {
            for family in IPAddress.Family.allCases {
                var one = queries[0]
                one.family = family
                one.options.families = family == .v4 ? .v4 : .v6
                queries.append(one)
            }
        }
        var seen: Set<IPAddress> = []
        let addresses = comparison.differences.compactMap(\.example)
            .filter { options.compares($0) && seen.insert($0).inserted }
        let compared = addresses.prefix(Self.networkLimit)
        queries += (compared + others.filter { options.compares($0) && !compared.contains($0) })
            .map { TargetDifference.Query(text: $0.description, target: .address($0), options: options) }
        return (queries, addresses.count - compared.count)
    }
}

extension ReachabilityOptions {
    /// Whether an address is compared if the user names no target.
    ///
    /// Addresses of another family than the socket's are not.
    fileprivate func compares(_ address: IPAddress) -> Bool {
        families.contains(address.family == .v4 ? .v4 : .v6)
            && address.family == sourceAddress?.family ?? address.family
    }
}

extension NetworkDifference {
    /// Whether the difference is a neighbour, or a route of the kernel for an address of the host or for multicast.
    fileprivate var isAside: Bool {
        switch self {
        case .neighbour: true
        case .route(let change): change.latest?.table == Route.localTable
        case .link, .address, .rule, .nexthop, .settings: false
        }
    }

    /// An address that the difference can affect; `nil` if the default path represents it.
    fileprivate var example: IPAddress? {
        switch self {
        case .route(let change):
            guard let route = change.latest, route.table != Route.localTable else { return nil }
            return route.destination.example
        case .rule(let change): return change.latest?.destination?.example
        case .address(let change):
            guard let address = change.latest?.address, !address.needsZone else { return nil }
            return address
        case .link, .neighbour, .nexthop, .settings: return nil
        }
    }
}

extension IPPrefix {
    /// The first host of the network; `nil` for a default route, and for multicast and link-local networks, which
    /// need an interface.
    fileprivate var example: IPAddress? {
        guard !isDefault, !address.isMulticast, !address.isLinkLocal else { return nil }
        if isHost { return address }
        let bits = address.low + 1
        return family == .v4 ? IPAddress(v4: UInt32(bits)) : IPAddress(v6High: address.high, low: bits)
    }
}
