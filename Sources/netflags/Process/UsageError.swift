// SPDX-License-Identifier: Apache-2.0

/// A wrong command line.
///
/// The description says what is wrong and what to write instead.
struct UsageError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// A command line or standard input without a target.
    static let noTargets = UsageError(
        "no target: give a name, an address, default, or - and targets on stdin")
}
