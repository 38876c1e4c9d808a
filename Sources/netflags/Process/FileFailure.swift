// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Why a file or a descriptor cannot be read or written.
struct FileFailure: Error, CustomStringConvertible {
    /// What failed, why, and what to do.
    let description: String
    /// The errno; 0 for none.
    let number: Int32

    /// - Parameters:
    ///   - operation: What failed, such as `write to stdout`.
    ///   - number: The errno.
    ///   - redirection: What opens the descriptor, where it can be closed.
    init(_ operation: String, _ number: Int32, openedBy redirection: String? = nil) {
        let advice = number == EBADF ? redirection.map { "; open it, for example with \($0)" } : nil
        description = "cannot \(operation): \(systemMessage(number))\(advice ?? "")"
        self.number = number
    }

    /// - Parameters:
    ///   - operation: What failed.
    ///   - reason: Why, and what to do.
    init(_ operation: String, _ reason: String) {
        (description, number) = ("cannot \(operation): \(reason)", 0)
    }

    /// A write to standard output that failed.
    static func writing(_ number: Int32) -> FileFailure {
        FileFailure("write to stdout", number, openedBy: ">/dev/null")
    }
}
