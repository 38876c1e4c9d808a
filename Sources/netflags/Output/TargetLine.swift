// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRecording

/// The library's result for one target, with the text of the target as given.
struct TargetLine {
    let target: String
    /// The result; `nil` until a name has been resolved for the first time.
    let outcome: Answer?
    /// When the result was determined; `check` prints no time.
    var time: Recording.Time?
    /// The event that changed the result, or several events of which at least one changed it.
    ///
    /// Empty for the first result, and if the event is not known.
    var causes: [ChangeCause] = []
    /// Whether a remote host answers on the path, or why that is not known; `nil` if that was not queried.
    var evidence: Result<NetworkEvidence, ReachabilityError>?

    /// The flags; empty without a report.
    var flags: ReachabilityFlags {
        outcome?.report?.flags ?? []
    }

    /// The reason for the flags.
    var reason: String { outcome?.reason ?? "not resolved yet" }

    /// The exit status that this result alone gives to `check`.
    var exitStatus: ExitStatus {
        if mistake != nil { return .undetermined }
        // The flags describe the route, not the socket.
        if outcome?.report?.reason.code == .socketRefused { return .unreachable }
        return ExitStatus(isReachable: outcome?.report?.isReachable)
    }

    /// The message on standard error for a result that a mistyped name can cause; `nil` for other results.
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

/// The result for a target: a report, or the error that prevented one.
typealias Answer = Result<ReachabilityReport, ReachabilityError>

extension Answer {
    /// The report; `nil` without one.
    var report: ReachabilityReport? { try? get() }

    /// The query for the evidence on the evaluated path; `nil` without a path.
    func evidenceQuery(_ options: ReachabilityOptions) -> NetworkQuery<NetworkEvidence>? {
        guard let report else { return nil }
        guard report.target.isName else { return .evidence(of: report.target, options: options) }
        // A name is not resolved again.
        return report.address.map { .evidence(of: .address($0), options: options) }
    }

    /// Whether packets can leave; `nil` if that could not be determined.
    var isReachable: Bool? { report?.isReachable }

    /// Whether the target is reachable and this host accepts its answers; `nil` if that is not known.
    var receivesAnswers: Bool? {
        guard isReachable == true, let returns = report?.returns else { return isReachable }
        return returns.isDelivered
    }

    /// The reason for the flags.
    var reason: String { report?.reason.description ?? "the target could not be evaluated" }

    /// The reason for the flags as a code for programs; `nil` without a report.
    var code: String? { report?.reason.code.description }

    /// The message about a mistyped name; `nil` for other answers.
    var mistake: String? { report?.reason.mistake }

    /// Whether two answers have the same flags, interface and gateway, and the same other ones that the kernel can
    /// choose, or the same error.
    func isSame(as other: Self) -> Bool {
        switch (self, other) {
        case (.success(let one), .success(let other)):
            one.flags == other.flags && one.interface?.name == other.interface?.name
                && one.gateway == other.gateway && one.otherPaths == other.otherPaths
        case (.failure(let one), .failure(let other)):
            one.code == other.code && one.description == other.description
        default: false
        }
    }

    /// Whether the answer is a change from an earlier answer about the same target.
    func isChange(from old: Self, _ changes: ReachabilityReport.Change) -> Bool {
        if let report, let old = old.report {
            !report.isSame(as: old, changes)
        } else {
            failure != old.failure
        }
    }
}

extension ReachabilityReport {
    /// The interfaces and gateways of the other nexthops, in words.
    fileprivate var otherPaths: Set<String> {
        Set(otherNexthops.map { "\($0.gateway?.description ?? "") \($0.interfaceName ?? "")" })
    }
}

extension ReachabilityReason {
    /// The message on standard error about an interface that does not exist; `nil` for other reasons.
    ///
    /// The name can be mistyped, so a command that evaluates once ends with status 2. `watch` and `wait` wait for the
    /// interface.
    var mistake: String? { code == .noInterface ? ReachabilityError.adding(interfaceTo: description) : nil }
}

extension ReachabilityError {
    /// The text for a line: of an interface that does not exist, the words of the reason `noInterface`.
    var words: String { number == ENODEV ? message : description }

    /// The text after the word unknown.
    var cause: String { code == .undecided ? message : description }

    /// The text for standard error, with what to write instead.
    var advice: String { number == ENODEV ? Self.adding(interfaceTo: message) : description }

    fileprivate static func adding(interfaceTo words: String) -> String {
        "\(words): give one that `ip link` lists"
    }
}

extension Result {
    /// The error; `nil` for a success.
    var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
