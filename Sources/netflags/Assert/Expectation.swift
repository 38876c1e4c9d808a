// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// A line of a file of expectations: a target, and what its answer should be.
struct Expectation: Hashable {
    /// The number of the line, from 1.
    let line: Int
    /// The line as written, without a comment.
    let text: String
    /// The word that names the target.
    var name = ""
    var target = ReachabilityTarget.defaultPath
    var options = ReachabilityOptions()
    /// Whether packets can leave; `nil` for either, where the flags are given.
    var isReachable: Bool?
    var gateway: IPAddress?
    var interface: String?
    var source: IPAddress?
    /// The flags, as nine letters.
    var letters: String?

    /// Whether an answer is the expected one.
    enum Verdict: Hashable {
        case holds
        /// It is another one: what differs, and why.
        case fails(String)
        /// There is no answer.
        case undetermined(String)

        var exitStatus: ExitStatus {
            switch self {
            case .holds: .success
            case .fails: .unreachable
            case .undetermined: .undetermined
            }
        }

        /// What differs, or why there is no answer; `nil` where the expectation holds.
        var reason: String? {
            switch self {
            case .holds: nil
            case .fails(let reason), .undetermined(let reason): reason
            }
        }
    }

    /// Compares with an answer.
    func verdict(on answer: TargetDifference.Answer) -> Verdict {
        guard let reachable = answer.isReachable else {
            return .undetermined(answer.failure?.description ?? answer.reason)
        }
        let differences = differences(from: answer.report, reachable)
        guard !differences.isEmpty else { return .holds }
        let reason = answer.failure?.description ?? answer.reason
        return .fails("\(differences.joined(separator: ", ")): \(reason)")
    }

    private func differences(from report: ReachabilityReport?, _ reachable: Bool) -> [String] {
        if let isReachable, isReachable != reachable {
            return [reachable ? "it is reachable" : "it is not reachable"]
        }
        var found: [String] = []
        func compare<Value: Equatable>(_ name: String, _ expected: Value?, _ value: Value?) {
            guard let expected, expected != value else { return }
            found.append(value.map { "the \(name) is \($0)" } ?? "it has no \(name)")
        }
        compare("gateway", gateway, report?.gateway?.withoutZone)
        compare("interface", interface, report?.interface?.name)
        compare("source address", source, report?.sourceAddress?.withoutZone)
        if let letters, letters != report?.flags.letters ?? "-- -------" {
            found.append("the flags are \(report?.flags.letters ?? "none")")
        }
        return found
    }
}
