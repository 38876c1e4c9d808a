// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A target with its options, and the question for its flags.
///
/// It is shared by the handle, its iterations and the monitor. Nothing of it changes but the current flags.
final class MonitoredTarget: MonitorQuestion {
    /// A target in few bytes: there can be a hundred thousand.
    private enum Compact: Sendable {
        /// An IPv4 address without a zone.
        case v4(UInt32)
        /// An IPv6 address without a zone.
        case v6(high: UInt64, low: UInt64)
        case other(Box<ReachabilityTarget>)

        init(_ target: ReachabilityTarget) {
            switch target.kind {
            case .address(let address) where address.zone == nil:
                switch address.family {
                case .v4: self = .v4(UInt32(truncatingIfNeeded: address.low))
                case .v6: self = .v6(high: address.high, low: address.low)
                }
            default: self = .other(Box(target))
            }
        }

        var target: ReachabilityTarget {
            switch self {
            case .v4(let number): .address(IPAddress(v4: number))
            case .v6(let high, let low): .address(IPAddress(v6High: high, low: low))
            case .other(let box): box.value
            }
        }
    }

    private let compact: Compact
    /// Options other than the defaults, which need no memory.
    private let special: Box<ReachabilityOptions>?
    /// The flags of the newest answer while the handle is started.
    let current = CurrentFlags()

    init(target: ReachabilityTarget, options: ReachabilityOptions) {
        compact = Compact(target)
        special = options == ReachabilityOptions() ? nil : Box(options)
    }

    var target: ReachabilityTarget { compact.target }

    var options: ReachabilityOptions {
        special?.value ?? ReachabilityOptions()
    }

    /// The host name; `nil` if the target is no name.
    var name: String? {
        guard case .host(let name) = target.kind else { return nil }
        return name
    }

    var namedTarget: MonitoredTarget? { name == nil ? nil : self }
    var readsNameservers: Bool { false }
    var subject: MonitoredTarget? { self }

    var plainDestination: IPAddress? {
        guard let address = plainAddress, address.family == .v4 else { return nil }
        return address
    }

    /// The address of a plain question; `nil` for other questions.
    ///
    /// Without the target and its options, which take a tenth of the time of an answer to make.
    private var plainAddress: IPAddress? {
        guard special?.value.isPlain ?? true else { return nil }
        switch compact {
        case .v4(let number): return IPAddress(v4: number).plainDestination
        case .v6(let high, let low): return IPAddress(v6High: high, low: low).plainDestination
        case .other(let box):
            guard case .address(let address) = box.value.kind else { return nil }
            return address.plainDestination
        }
    }

    /// The flags by a short way, without the values that a reason or a report needs; `nil` if that is not enough.
    func plainFlags(from routing: any RoutingSource) throws(ReachabilityError) -> ReachabilityFlags? {
        guard let destination = plainAddress else { return nil }
        do {
            guard let answer = try routing.plainAnswer(about: destination) else { return nil }
            return ReachabilityRules.flags(answer, of: destination)
        } catch {
            throw ReachabilityError(error)
        }
    }

    func evaluator(_ facts: NetworkFacts) -> TargetEvaluator {
        TargetEvaluator(facts: facts, options: options)
    }

    /// The flags; empty while the interface that the question is restricted to does not exist.
    func answer(from facts: NetworkFacts) throws(ReachabilityError) -> ReachabilityFlags {
        // Without the evaluator, which copies the facts.
        if let flags = try plainFlags(from: facts.routing) { return flags }
        return try evaluator(facts).evaluateMonitored(target, detail: .flags).flags
    }
}

extension ReachabilityFlags: MonitorAnswer {
    var latestFlags: ReachabilityFlags? { self }
}

/// The question for a target's report.
struct ReportQuestion: MonitorQuestion {
    let target: MonitoredTarget
    let detail: ReachabilityReport.Detail

    var namedTarget: MonitoredTarget? { target.namedTarget }
    var readsNameservers: Bool { false }
    var subject: MonitoredTarget? { target }

    func answer(from facts: NetworkFacts) throws(ReachabilityError) -> ReachabilityReport {
        try target.evaluator(facts).report(on: target.target, detail.evaluation)
    }
}

extension ReachabilityReport: MonitorAnswer {
    /// A report is delivered when the flags change: another gateway with the same flags is not a change.
    var change: ReachabilityFlags { flags }
    var latestFlags: ReachabilityFlags? { flags }
}
