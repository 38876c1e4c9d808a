// SPDX-License-Identifier: Apache-2.0

/// Failures of the kernel under a simulated network, which last until a test resets them.
///
/// ```swift
/// network.change { $0.failures.queries = .notPermitted }
/// ```
///
/// Single failures are methods of ``SimulatedNetwork``, such as ``SimulatedNetwork/loseNotifications()``.
public struct SimulatedFailures: Hashable, Sendable {
    /// The errno that simulated requests fail with.
    public struct Failure: RawRepresentable, Hashable, Sendable {
        /// The errno.
        public let rawValue: Int32

        /// Creates a failure from an errno.
        public init(rawValue: Int32) {
            self.rawValue = rawValue
        }

        /// A sandbox or a security module refuses the request (EPERM).
        public static let notPermitted = Failure(rawValue: 1)
        /// The kernel does not answer in time; the clock does not move (ETIMEDOUT).
        public static let timedOut = Failure(rawValue: 110)
        /// The process has no descriptor left (EMFILE).
        public static let tooManyDescriptors = Failure(rawValue: 24)
        /// The kernel has no netlink sockets (EAFNOSUPPORT).
        public static let unsupportedFamily = Failure(rawValue: 97)
        /// The kernel has no memory left (ENOBUFS).
        public static let noBuffers = Failure(rawValue: 105)
    }

    /// The error of every query; `nil` when queries are answered.
    public var queries: Failure?
    /// The error of a monitor that opens its notification socket; `nil` when opening succeeds.
    ///
    /// A running monitor keeps its socket. The monitor starts with the first handle and ends with the last handle.
    public var opening: Failure?
    /// Whether a starting monitor gets no notifications, as in some sandboxes, and so polls every 5 s.
    public var refusesNotifications = false

    /// Creates a value without failures.
    public init() {}
}
