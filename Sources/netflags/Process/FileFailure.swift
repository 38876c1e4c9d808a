// SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport

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
    ///   - advice: What to give instead.
    init(
        _ operation: String, _ number: Int32, openedBy redirection: String? = nil, advice: String? = nil
    ) {
        let opening = number == EBADF ? redirection.map { "open it, for example with \($0)" } : nil
        let words = [SystemCallError.message(number), opening ?? advice].compactMap(\.self)
        description = "cannot \(operation): \(words.joined(separator: "; "))"
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
