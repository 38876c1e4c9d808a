// SPDX-License-Identifier: Apache-2.0

internal import NetlinkPlanning
import NetlinkRecording

/// A wrong command line, or a wrong value of an option.
///
/// The description says what is wrong and what to write instead.
typealias UsageError = SocketText.Invalid

extension UsageError {
    /// A command line or standard input without a target.
    static let noTargets = UsageError(
        "no target: give a name, an address, default, or - and targets on stdin")

    /// Calls the body, and turns its error into a wrong command line.
    @discardableResult
    static func wrapping<Value>(_ body: () throws -> Value) throws(UsageError) -> Value {
        do {
            return try body()
        } catch {
            throw UsageError("\(error)")
        }
    }
}
