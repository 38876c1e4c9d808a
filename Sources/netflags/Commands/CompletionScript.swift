// SPDX-License-Identifier: Apache-2.0

/// The completion scripts of ArgumentParser, with what they lack: no shell expands a completion.
enum CompletionScript {
    /// The script as a shell reads it.
    ///
    /// The parser's script for bash has `compgen -W` choose among the words of a list, or of the output of a command.
    /// `compgen` expands them first: it runs the substitutions that a word has. bash then inserts the word without a
    /// backslash before `$` and the backquote, unless it is the name of a file that exists. The function that adds
    /// words is replaced: it compares them as they are, and leaves out those that bash interprets.
    ///
    /// The script for zsh switches history expansion off while it completes, and so zsh inserts a `!` without a
    /// backslash, which the line that is entered expands. It stays on.
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
