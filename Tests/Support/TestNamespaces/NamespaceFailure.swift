// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// What went wrong in the making of a test's network, in words.
package struct NamespaceFailure: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }

    /// What a system call just said.
    static func system(_ what: String) -> NamespaceFailure {
        NamespaceFailure("\(what): \(String(cString: strerror(errno)))")
    }
}
