// SPDX-License-Identifier: Apache-2.0

import RoutingModel

@testable import NetlinkReachability

/// Targets that are evaluated in one batch: their flags, or with ``QueryDetail/full`` their reports.
struct EvaluatedTargets {
    private var results: [Result<(ReachabilityFlags, ReachabilityReport?), ReachabilityError>?]
    /// What the value of each target depends on.
    private(set) var dependencies: [RouteDependencies]

    init(
        _ facts: NetworkFacts,
        _ targets: [(target: ReachabilityTarget, detail: QueryDetail)],
        resolution: (Int) -> ResolvedName? = { _ in nil }
    ) {
        results = Array(repeating: nil, count: targets.count)
        dependencies = Array(repeating: RouteDependencies(), count: targets.count)
        facts.evaluate(targets.count) {
            (index, known) throws(Interruption) -> (ReachabilityFlags, ReachabilityReport?) in
            known.resolution = resolution(index)
            let (target, detail) = targets[index]
            guard detail == .full else {
                return (try known.flags(of: target, ReachabilityOptions()), nil)
            }
            let report = try known.report(on: target, ReachabilityOptions(), detail)
            return (report.flags, report)
        } take: { index, result, findDependencies in
            results[index] = result
            dependencies[index] = findDependencies(false)
        }
    }

    init(_ facts: NetworkFacts, flagsOf addresses: [IPAddress]) {
        self.init(facts, addresses.map { (.address($0), .flags) })
    }

    func flags(_ index: Int) throws(ReachabilityError) -> ReachabilityFlags {
        try results[index]?.get().0 ?? []
    }

    func report(_ index: Int) throws(ReachabilityError) -> ReachabilityReport? {
        try results[index]?.get().1
    }

    func addresses(_ index: Int) -> Set<IPAddress> {
        var addresses: Set<IPAddress> = []
        dependencies[index].addresses.each { addresses.insert($0) }
        return addresses
    }
}
