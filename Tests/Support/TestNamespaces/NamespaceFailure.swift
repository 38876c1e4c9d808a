// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// An error while creating or using a test's network.
package struct NamespaceFailure: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }

    /// The error of a failed system call.
    static func system(_ what: String) -> NamespaceFailure {
        NamespaceFailure("\(what): \(String(cString: strerror(errno)))")
    }
}
