// SPDX-License-Identifier: Apache-2.0

/// What goes wrong beneath a simulated network, until a test says otherwise.
///
/// ```swift
/// network.change { $0.failures.questions = .notPermitted }
/// ```
///
/// Failures of a moment are methods of ``SimulatedNetwork``, such as ``SimulatedNetwork/loseNotifications()``.
public struct SimulatedFailures: Hashable, Sendable {
    /// Why the kernel does not do as it is told.
    public struct Failure: RawRepresentable, Hashable, Sendable {
        /// The errno.
        public let rawValue: Int32

        /// Wraps an errno.
        public init(rawValue: Int32) {
            self.rawValue = rawValue
        }

        /// A sandbox or a security module forbids it (EPERM).
        public static let notPermitted = Failure(rawValue: 1)
        /// No answer comes within a second, on a clock that does not move (ETIMEDOUT).
        public static let timedOut = Failure(rawValue: 110)
        /// The process has too many descriptors (EMFILE).
        public static let tooManyDescriptors = Failure(rawValue: 24)
        /// The kernel has no netlink sockets to give (EAFNOSUPPORT).
        public static let unsupportedFamily = Failure(rawValue: 97)
        /// There is no memory (ENOBUFS).
        public static let noBuffers = Failure(rawValue: 105)
    }

    /// Why no question is answered; `nil` when they are.
    public var questions: Failure?
    /// Why no socket for notifications can be had when a monitor starts; `nil` when it can.
    ///
    /// A monitor that runs keeps the one it has: it starts with the first handle and ends with the last.
    public var opening: Failure?
    /// Whether notifications are kept back from a monitor that starts, as some sandboxes do: it looks every
    /// 5 s then.
    public var refusesNotifications = false

    /// Nothing fails.
    public init() {}
}
