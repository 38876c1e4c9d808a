// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording

/// The library's result for one target, with the text that the target was given as.
struct TargetLine {
    let target: String
    /// `nil` while a name is not resolved for the first time.
    let outcome: Answer?
    /// When the result was found; `check` prints no time.
    var time: Recording.Time?
    /// The event that changed the result, or several of which one did; none for the first result, and where none is
    /// known.
    var causes: [ChangeCause] = []
    /// Whether anything answers on the path; `nil` where that was not asked, or is not known.
    var evidence: NetworkEvidence?

    /// The flags; none without a report.
    var flags: ReachabilityFlags {
        outcome?.report?.flags ?? []
    }

    /// The reason of the flags.
    var reason: String { outcome?.reason ?? "not resolved yet" }

    /// The exit status that this result alone gives to `check`.
    var exitStatus: ExitStatus {
        if mistake != nil { return .undetermined }
        // The flags are those of the route.
        if outcome?.report?.reason.code == .socketRefused { return .unreachable }
        return ExitStatus(isReachable: outcome?.report?.isReachable)
    }

    /// What is said on standard error about a result that a mistyped name can have; `nil` for others.
    var mistake: String? { outcome?.mistake }
}

/// A format of `check` and `watch`.
protocol LineFormat {
    /// Formats a line; the format may keep it until ``flush(to:)``.
    mutating func write(_ line: TargetLine, to buffer: inout ByteBuffer)

    /// Formats the lines kept so far.
    mutating func flush(to buffer: inout ByteBuffer)
}

// MARK: - Answers

/// What is known of a target: a report, or why there is none.
typealias Answer = Result<ReachabilityReport, ReachabilityError>

extension Answer {
    /// The report; `nil` without one.
    var report: ReachabilityReport? { try? get() }

    /// The query for the evidence on the path that was evaluated; `nil` without a path.
    func evidenceQuery(_ options: ReachabilityOptions) -> NetworkQuery<NetworkEvidence>? {
        guard let report else { return nil }
        guard report.target.isName else { return .evidence(of: report.target, options: options) }
        // A name is not resolved again.
        return report.address.map { .evidence(of: .address($0), options: options) }
    }

    /// Whether packets can leave; `nil` when that could not be determined.
    var isReachable: Bool? { report?.isReachable }

    /// Whether the target is reachable and this host takes its answers; `nil` where that is not known.
    var receivesAnswers: Bool? {
        guard isReachable == true, let returns = report?.returns else { return isReachable }
        return returns.isDelivered
    }

    /// The reason of the flags.
    var reason: String { report?.reason.description ?? "the target could not be evaluated" }

    /// The reason of the flags as a word for programs; `nil` without a report.
    var code: String? { report?.reason.code.description }

    /// What is wrong with a mistyped name; `nil` for other answers.
    var mistake: String? { report?.reason.mistake }

    /// Whether the flags, the interface and the gateway are the same, or the error.
    func isSame(as other: Self) -> Bool {
        switch (self, other) {
        case (.success(let one), .success(let other)):
            one.flags == other.flags && one.interface?.name == other.interface?.name
                && one.gateway == other.gateway
        case (.failure(let one), .failure(let other)):
            one.code == other.code && one.description == other.description
        default: false
        }
    }

    /// Whether it is a change after another answer about the same target.
    func isChange(from old: Self, _ changes: ReachabilityReport.Change) -> Bool {
        if let report, let old = old.report {
            !report.isSame(as: old, changes)
        } else {
            failure != old.failure
        }
    }
}

extension ReachabilityReason {
    /// The line on standard error about an interface that does not exist; `nil` for other reasons.
    ///
    /// Its name can be mistyped, so that a command that asks once ends with status 2. Commands that go on wait for it.
    var mistake: String? { code == .noInterface ? "\(self): give one that `ip link` lists" : nil }
}

extension Result {
    /// The error; `nil` for a success.
    var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
