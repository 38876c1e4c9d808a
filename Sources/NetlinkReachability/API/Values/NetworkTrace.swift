// SPDX-License-Identifier: Apache-2.0

/// One evaluation of an observed query: the query, the causes and the result.
///
/// ```swift
/// let source = NetworkSource.kernel.tracing { print($0) }
/// // flags of 192.0.2.1: -R ------- (change, after a notification)
/// ```
public struct NetworkTrace: Sendable {
    /// Why queries are evaluated.
    public struct Causes: OptionSet, Hashable, Sendable {
        /// The set's bits.
        public let rawValue: UInt16

        /// Creates a set from its bits.
        public init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// The observation has begun.
        public static let beginning = Causes(rawValue: 1)
        /// The kernel has notified of a change that can concern the query.
        public static let notification = Causes(rawValue: 1 << 1)
        /// The kernel can notify of a change before it makes the change, so the evaluation is repeated a little
        /// later.
        public static let secondLook = Causes(rawValue: 1 << 2)
        /// Notifications were lost.
        public static let lostNotifications = Causes(rawValue: 1 << 3)
        /// A route that the last answer depends on has expired.
        public static let expiry = Causes(rawValue: 1 << 4)
        /// An earlier evaluation failed.
        public static let failure = Causes(rawValue: 1 << 5)
        /// A name was resolved, or the resolver's configuration has changed.
        public static let resolution = Causes(rawValue: 1 << 6)
        /// The machine has slept.
        public static let sleep = Causes(rawValue: 1 << 7)
        /// The period for changes that the kernel does not notify of has elapsed.
        public static let routine = Causes(rawValue: 1 << 8)
        /// The program called ``NetworkSource/evaluateAgain()``.
        public static let request = Causes(rawValue: 1 << 9)
    }

    /// What was evaluated, such as `flags of 192.0.2.1`.
    public let query: String
    /// The causes of all evaluations that were due at that time.
    public let causes: Causes
    /// The value, or the error.
    public let result: String
    /// Whether the result differs from the one before and is delivered.
    public let isChange: Bool
}

extension NetworkTrace.Causes: CustomStringConvertible {
    /// The causes in words, such as `a notification`.
    public var description: String {
        let words: [(Self, String)] = [
            (.beginning, "the beginning"), (.notification, "a notification"), (.secondLook, "a second look"),
            (.lostNotifications, "lost notifications"), (.expiry, "an expiry"), (.failure, "a failure"),
            (.resolution, "a resolution"), (.sleep, "a sleep"), (.routine, "a routine"),
            (.request, "a request"),
        ]
        return words.filter { contains($0.0) }.map(\.1).joined(separator: " and ")
    }
}

extension NetworkTrace: CustomStringConvertible {
    /// One line: `flags of 192.0.2.1: -R ------- (change, after a notification)`.
    public var description: String {
        "\(query): \(result) (\(isChange ? "change" : "no change"), after \(causes))"
    }
}

extension NetworkTrace {
    init(_ evaluated: (query: String, result: String), _ causes: Causes, isChange: Bool) {
        (query, result) = evaluated
        (self.causes, self.isChange) = (causes, isChange)
    }
}
