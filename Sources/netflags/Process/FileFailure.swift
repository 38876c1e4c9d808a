// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Why a file or a descriptor cannot be read or written.
struct FileFailure: Error, CustomStringConvertible {
    /// What failed, why, and what to do.
    let description: String
    /// The errno; 0 for none.
    var number: Int32 = 0

    /// A write to standard output that failed.
    static func writing(_ number: Int32) -> FileFailure {
        let advice = number == EBADF ? "; open it, for example with >/dev/null" : ""
        return FileFailure(
            description: "cannot write to stdout: \(systemMessage(number))\(advice)", number: number)
    }

    /// A read of standard input that failed.
    static func reading(_ number: Int32) -> FileFailure {
        let advice = number == EBADF ? "; open it, for example with </dev/null" : ""
        return FileFailure(description: "cannot read stdin: \(systemMessage(number))\(advice)", number: number)
    }
}
