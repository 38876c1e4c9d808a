// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

extension CompletionKind {
    /// The names that a shell command prints, one on a line, without those that a shell interprets.
    ///
    /// A name that has another character than letters, digits, `_`, `.`, `@` and `-`, or that begins like an option or
    /// a hidden file, is not offered. Others choose such names: that of an interface has nearly any byte.
    ///
    /// - Parameter command: The command, without a colon, which ends the command in zsh.
    /// - Returns: The kind.
    static func names(printedBy command: String) -> CompletionKind {
        // In the locale C, a letter is one of ASCII.
        .shellCommand("\(command) | env LC_ALL=C grep -axE '[A-Za-z0-9_][A-Za-z0-9_.@-]*'")
    }
}
