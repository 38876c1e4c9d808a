// SPDX-License-Identifier: Apache-2.0

internal import Glibc

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

    /// Whether an errno says that the process or the system has run out of descriptors or memory.
    package static func isExhaustion(_ number: Int32) -> Bool {
        [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(number)
    }

    /// An errno in the form of all messages, such as `No such file or directory (errno 2)`.
    package static func message(_ number: Int32) -> String {
        "\(words(number)) (errno \(number))"
    }

    /// The system's words for an errno, from strerror_r(3), because strerror(3) is not thread-safe.
    package static func words(_ number: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            guard let start = buffer.baseAddress, strerror_r(number, start, buffer.count) == 0 else {
                return "error \(number)"
            }
            return String(cString: start)
        }
    }
}
