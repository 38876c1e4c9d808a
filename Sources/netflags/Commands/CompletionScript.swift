// SPDX-License-Identifier: Apache-2.0

/// The completion scripts of ArgumentParser, changed so that no shell expands a completion.
enum CompletionScript {
    /// The script with the changes for its shell.
    ///
    /// In the parser's script for bash, `compgen -W` selects among the words of a list, or of the output of a command.
    /// `compgen` expands the words first, which runs command substitutions in them. bash then inserts a word without a
    /// backslash before `$` and the backquote, unless it is the name of an existing file. The function that adds words
    /// is replaced: it compares the words literally, and omits words that bash would interpret.
    ///
    /// The script for zsh disables history expansion during completion. zsh then inserts a `!` without a backslash,
    /// and the entered line expands it. The changed script keeps history expansion enabled.
    ///
    /// - Parameter script: The script of the parser.
    /// - Returns: The script with the changes.
    static func safe(_ script: String) -> String {
        if script.hasPrefix("#!/bin/bash") { return script + "\n\n" + addCompletions }
        let lines = script.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.map { $0 == "    unsetopt aliases banghist" ? "    unsetopt aliases" : $0 }
            .joined(separator: "\n")
    }

    private static let addCompletions = """
        # compgen -W would expand the words, and run what they substitute. bash interprets some where it inserts them.
        __netflags_add_completions() {
            local completion
            if [[ "${1}" = -W ]]; then
                local LC_ALL=C
                while IFS='' read -r completion; do
                    if [[ "${completion}" = "${cur}"* && "${completion}" = [A-Za-z0-9_]* &&
                        "${completion}" != *[!A-Za-z0-9_.@-]* ]]; then
                        COMPREPLY+=("${completion}")
                    fi
                done <<<"${2}"
                return
            fi
            while IFS='' read -r completion; do
                COMPREPLY+=("${completion}")
            done < <(compgen "${@}" -- "${cur}")
        }
        """
}
