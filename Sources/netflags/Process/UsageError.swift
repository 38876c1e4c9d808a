// SPDX-License-Identifier: Apache-2.0

/// A wrong command line.
///
/// The message says what is wrong and what to write instead.
struct UsageError: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }

    /// A command line or standard input without a target.
    static let noTargets = UsageError(
        "no target: give a name, an address, default, or - and targets on stdin")
}
