// SPDX-License-Identifier: Apache-2.0

/// A failed system call.
package struct SystemCallError: Error, Hashable, Sendable {
    /// The operation that failed, as an infinitive without "to": "open an eventfd".
    package var operation: String
    /// The errno.
    package var number: Int32

    /// Creates an error.
    package init(operation: String, number: Int32) {
        self.operation = operation
        self.number = number
    }
}
