// SPDX-License-Identifier: Apache-2.0

import Glibc
internal import NetlinkRecording

/// The exit status of a command, from best to worst.
enum ExitStatus: Int32 {
    /// Every target is reachable, or the command succeeded.
    case success = 0
    /// At least one target is not reachable.
    case unreachable = 1
    /// At least one target could not be evaluated.
    case undetermined = 2
    /// The command line is wrong (EX_USAGE of `sysexits.h`).
    case usage = 64

    /// The status for one target: whether the target is reachable, or `nil` if that is not known.
    init(isReachable: Bool?) {
        self = isReachable.map { $0 ? .success : .unreachable } ?? .undetermined
    }

    /// The worse of two statuses.
    func worse(_ other: ExitStatus) -> ExitStatus {
        rawValue >= other.rawValue ? self : other
    }

    /// Ends the process.
    func exit() -> Never {
        Glibc.exit(rawValue)
    }
}

// MARK: - Wrong usage

/// A wrong command line, or a wrong value of an option.
///
/// The description contains the error and a correct form.
typealias UsageError = SocketText.Invalid

extension UsageError {
    /// A command line or standard input without a target.
    static let noTargets = UsageError(
        "no target: give a name, an address, default, or - and targets on stdin")

    /// Throws for options that have no effect together with another option.
    ///
    /// - Parameters:
    ///   - options: The names of the options, and whether each is given.
    ///   - reason: Why the options have no effect.
    /// - Throws: A usage error that names the given options.
    static func refuse(
        _ options: [(name: String, isGiven: Bool)], because reason: String
    ) throws(UsageError) {
        let given = options.filter(\.isGiven).map(\.name)
        guard !given.isEmpty else { return }
        throw UsageError("\(reason): leave out \(given.joined(separator: " and "))")
    }

    /// Calls the body, and converts its error to a usage error.
    @discardableResult
    static func wrapping<Value>(_ body: () throws -> Value) throws(UsageError) -> Value {
        do {
            return try body()
        } catch {
            throw UsageError("\(error)")
        }
    }
}
