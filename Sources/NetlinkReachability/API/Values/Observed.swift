// SPDX-License-Identifier: Apache-2.0

/// What monitoring a target has found: an answer, a failure, or that its name is still being resolved.
///
/// ```swift
/// for await observed in reachability.observations() {
///     switch observed {
///     case .unresolved: print("not resolved yet")
///     case .answer(let report): print(report.flags.letters, report.reason)
///     case .failure(let error): print("unknown: \(error)")
///     }
/// }
/// ```
public enum Observed<Answer: Sendable>: Sendable {
    /// The target is a name that is being resolved for the first time.
    case unresolved
    /// The answer of one evaluation.
    case answer(Answer)
    /// The question could not be answered, which is not the same as no.
    ///
    /// The monitor asks again after 1 s, and then less and less often: the kernel up to every 30 s, a resolver that
    /// cannot run up to every 60 s.
    indirect case failure(ReachabilityError)

    /// The answer; `nil` if there is none.
    public var answer: Answer? {
        guard case .answer(let answer) = self else { return nil }
        return answer
    }

    /// The same with another answer.
    func map<Other: Sendable>(_ convert: (Answer) -> Other) -> Observed<Other> {
        switch self {
        case .unresolved: .unresolved
        case .answer(let answer): .answer(convert(answer))
        case .failure(let error): .failure(error)
        }
    }
}

extension Observed: Equatable where Answer: Equatable {}
extension Observed: Hashable where Answer: Hashable {}
