// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import SystemSupport

/// The error of a query that could not be asked or answered.
///
/// It never means "not reachable".
public struct ReachabilityError: Error, Sendable {
    /// The cause of the error, for programs.
    ///
    /// Later versions can add codes: in a `switch`, keep a default branch.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name.
        public let description: String

        /// The text is neither a host name nor an address.
        public static let invalidHost = Code(description: "invalidHost")
        /// The socket address is too short, or the two addresses belong to different families.
        public static let invalidAddress = Code(description: "invalidAddress")
        /// The socket address belongs to a family other than IPv4 and IPv6.
        public static let unsupportedFamily = Code(description: "unsupportedFamily")
        /// The kernel, a socket or a system call failed: see ``ReachabilityError/number``.
        public static let systemFailure = Code(description: "systemFailure")
        /// The resolver could not run: it threw, no thread could be started for it, or 64 earlier lookups hang.
        ///
        /// A name that the resolver does not find is not an error.
        public static let resolverFailure = Code(description: "resolverFailure")
        /// The available facts, such as those of a recording, do not decide the answer.
        public static let undecided = Code(description: "undecided")
        /// The query has no current value, such as the query for events, which can only be observed.
        public static let noCurrentValue = Code(description: "noCurrentValue")
        /// A wait timed out before its condition was met.
        public static let timedOut = Code(description: "timedOut")
        /// A recording cannot be read: the message contains the file, the position of the error in bytes, and the
        /// reason.
        public static let unreadableRecording = Code(description: "unreadableRecording")
    }

    /// The cause of the error.
    public var code: Code { contents.value.failure.code }
    /// The operation that failed, such as `ask for a route`.
    public var operation: String { contents.value.failure.operation }
    /// The errno of the kernel, or the code of `getaddrinfo` (negative); 0 for none.
    public var number: Int32 { contents.value.failure.number }
    /// The kernel's own text if it sent one; the text of libnl if it failed without an errno; advice for a wrong
    /// input; or the last result of a wait.
    public var message: String { contents.value.failure.message }

    /// The error that a resolver of the program threw, or the failure of the last evaluation before a wait timed out;
    /// `nil` for other errors.
    ///
    /// It is ignored when errors are compared.
    public var underlyingError: (any Error)? { contents.value.underlyingError }
    /// A value that belongs to the error, of a type in a module that depends on this one; `nil` for none.
    package var detail: (any Sendable)? { contents.value.detail }

    private struct Failure: Hashable, Sendable {
        let code: Code
        let part: Part
        let operation: String
        let number: Int32
        let message: String
    }

    /// Boxed, so that results, which are rarely errors, stay small.
    private let contents: Box<(failure: Failure, underlyingError: (any Error)?, detail: (any Sendable)?)>

    /// The part of the system that failed.
    package enum Part: Hashable, Sendable {
        /// A netlink socket, or a request to the kernel.
        case netlink
        /// A system call that has nothing to do with netlink.
        case systemCall
        /// The start of a thread.
        case thread
    }

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The cause of the error.
    ///   - part: The part of the system that failed.
    ///   - operation: The operation that failed, as an infinitive without "to": "ask for a route".
    ///   - number: The errno, 0 for none.
    ///   - message: The kernel's own text, or what is missing; empty for none.
    ///   - underlyingError: The error that caused this one.
    ///   - detail: A value that belongs to the error. Its text is part of the message.
    package init(
        _ code: Code = .systemFailure,
        in part: Part = .netlink,
        operation: String,
        number: Int32 = 0,
        message: String = "",
        underlyingError: (any Error)? = nil,
        detail: (any Sendable)? = nil
    ) {
        let failure = Failure(
            code: code, part: part, operation: operation, number: number, message: message)
        contents = Box((failure, underlyingError, detail))
    }

    /// Creates an error from a system call that failed.
    package init(_ error: SystemCallError) {
        self.init(in: .systemCall, operation: error.operation, number: error.number)
    }

    /// The error if the answer depends on what the source lacks.
    package static func undecided(_ operation: String, _ message: String) -> ReachabilityError {
        ReachabilityError(.undecided, operation: operation, message: message)
    }
}

extension ReachabilityError: Hashable {
    /// Whether two errors are equal, without their underlying errors and their details, whose text is in the
    /// messages.
    public static func == (left: Self, right: Self) -> Bool {
        left.contents.value.failure == right.contents.value.failure
    }

    /// Hashes the properties that are compared.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(contents.value.failure)
    }
}

extension ReachabilityError: CustomStringConvertible {
    /// One line: the operation, the cause, and advice.
    public var description: String {
        switch code {
        case .invalidHost, .invalidAddress, .unsupportedFamily, .noCurrentValue, .timedOut:
            return message
        case .undecided:
            return "undecided: \(message)"
        case .unreadableRecording:
            return "cannot \(operation): \(message)"
        default:
            break
        }
        var text = "cannot \(operation)"
        if number > 0 { text += ": \(SystemCallError.message(number))" }
        if !message.isEmpty { text += ": \(message)" }
        if let advice { text += "; \(advice)" }
        return text
    }

    /// Advice for a user about the errnos of sandboxes and limits.
    private var advice: String? {
        let part = contents.value.failure.part
        return switch (number, part) {
        case (EMFILE, _), (ENFILE, _): "close descriptors or raise the limit (ulimit -n)"
        case (EPERM, .systemCall), (EPERM, .thread), (ENOSYS, .systemCall), (ENOSYS, .thread):
            "this sandbox may refuse the system call: allow it (SystemCallFilter= in systemd)"
        case (EAGAIN, .thread): "end threads or raise the limit (ulimit -u)"
        case _ where code != .systemFailure || part != .netlink: nil
        case (EPERM, _), (EACCES, _), (EAFNOSUPPORT, _), (EPROTONOSUPPORT, _):
            "this sandbox may refuse netlink sockets: allow AF_NETLINK (RestrictAddressFamilies= in systemd)"
        case (ETIMEDOUT, _): "the kernel did not answer in time: ask again"
        default: nil
        }
    }
}
