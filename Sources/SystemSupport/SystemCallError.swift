// SPDX-License-Identifier: Apache-2.0

/// A system call that failed.
package struct SystemCallError: Error, Hashable, Sendable {
    /// What the caller was doing, as an infinitive without "to": "open an eventfd".
    package var operation: String
    /// The errno.
    package var number: Int32

    /// Describes a failure.
    package init(operation: String, number: Int32) {
        self.operation = operation
        self.number = number
    }
}
