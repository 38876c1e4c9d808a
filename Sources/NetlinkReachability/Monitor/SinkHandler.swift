// SPDX-License-Identifier: Apache-2.0

/// What a ``CallbackSink`` calls.
protocol SinkHandler<Answer>: Sendable {
    associatedtype Answer: MonitorAnswer

    /// Whether it is called with a result; others are dropped.
    func accepts(_ observed: Observed<Answer>) -> Bool
    /// Calls it with a result that it accepts.
    func call(_ observed: Observed<Answer>)
}

/// A handler of any kind of answers.
enum AnswerHandler<Answer: MonitorAnswer>: SinkHandler {
    /// Called with answers only; failures are dropped.
    case answers(@Sendable (Answer) -> Void)
    /// Called with every kind of result.
    case results(@Sendable (Observed<Answer>) -> Void)

    func accepts(_ observed: Observed<Answer>) -> Bool {
        if case .answers = self, observed.answer == nil { false } else { true }
    }

    func call(_ observed: Observed<Answer>) {
        switch self {
        case .answers(let handler): if let answer = observed.answer { handler(answer) }
        case .results(let handler): handler(observed)
        }
    }
}

/// A handler of flags.
///
/// A generic type would hold each handler through a closure of its own, which takes memory for each handle.
enum FlagsHandler: SinkHandler {
    /// Called with flags only.
    case flags(@Sendable (ReachabilityFlags) -> Void)
    /// The second one is called with failures.
    indirect case flagsAndFailures(
        @Sendable (ReachabilityFlags) -> Void,
        @Sendable (ReachabilityError) -> Void
    )

    init(
        _ handler: @escaping @Sendable (ReachabilityFlags) -> Void,
        _ onFailure: (@Sendable (ReachabilityError) -> Void)?
    ) {
        self = onFailure.map { .flagsAndFailures(handler, $0) } ?? .flags(handler)
    }

    func accepts(_ observed: Observed<ReachabilityFlags>) -> Bool {
        if case .flags = self, observed.answer == nil { false } else { true }
    }

    func call(_ observed: Observed<ReachabilityFlags>) {
        switch (observed, self) {
        case (.unresolved, _), (.failure, .flags): break
        case (.answer(let flags), .flags(let handler)): handler(flags)
        case (.answer(let flags), .flagsAndFailures(let handler, _)): handler(flags)
        case (.failure(let error), .flagsAndFailures(_, let onFailure)): onFailure(error)
        }
    }
}
