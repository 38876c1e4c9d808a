// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel
internal import TestSupport

/// What a socket and the library say about one triple.
struct Testimony {
    let triple: Triple
    /// The refusal; `nil` where the socket sends.
    let refusal: SocketWitness.Outcome?
    /// The library's flags, or its error in words.
    let flags: Answer
    /// The reason that belongs to the flags.
    let reason: String

    enum Answer: Equatable {
        case flags(ReachabilityFlags)
        /// The library cannot decide: the source address of another user's or protocol's socket is ambiguous.
        case undecided
        case error(String)
    }

    /// Asks the socket, then the library.
    init(_ triple: Triple, _ source: NetworkSource) {
        self.triple = triple
        let outcome = SocketWitness.connect(triple.query)
        let refusal = outcome.connects == true ? nil : outcome
        self.refusal = refusal
        do throws(ReachabilityError) {
            let reachability = try NetworkReachability(
                target: .address(triple.target), options: triple.options, source: source)
            let found = try reachability.flags()
            let agrees = found.contains(.reachable) == (refusal == nil)
            // Only a difference needs a reason, which costs a second question.
            (flags, reason) = (
                .flags(found), agrees ? "" : try reachability.report(.brief).reason.code.description
            )
        } catch {
            (flags, reason) = (error.code == .undecided ? .undecided : .error(error.description), "")
        }
    }

    /// Whether the library says that the target can be reached, as the socket does.
    var agrees: Bool {
        guard case .flags(let flags) = flags else { return false }
        return flags.contains(.reachable) == (refusal == nil)
    }

    /// The sort of difference: the kind of binding, the family and both answers.
    var sort: String {
        let group = triple.target.isGroup ? "group " : ""
        return "\(triple.kind) \(triple.target.family) \(group)\(self)"
    }

    /// The exception that explains the difference; `nil` where none does.
    var exception: WitnessException? {
        guard case .flags(let flags) = flags, !flags.contains(.reachable), refusal == nil else { return nil }
        return WitnessException(triple.query, reason: reason)
    }
}

extension Testimony: CustomStringConvertible {
    var description: String {
        let socket = refusal.map(\.description) ?? "connects"
        switch flags {
        case .flags(let flags): return "socket \(socket), library \(flags.letters) \(reason)"
        case .undecided: return "socket \(socket), library undecided"
        case .error(let text): return "socket \(socket), library error: \(text)"
        }
    }
}
