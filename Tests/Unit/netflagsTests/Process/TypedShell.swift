// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

/// A shell on a terminal, into which a test types: what completion inserts is run as a user would run it.
///
/// `netflags` of the shell notes its arguments, and `ls` prints the lines of the file `names`, unless a test removes
/// it.
final class TypedShell {
    enum Kind: String, CaseIterable {
        case bash, zsh, fish

        /// The command that starts the shell without a user's configuration.
        fileprivate var command: String {
            switch self {
            case .bash: "bash --noprofile --norc -i"
            case .zsh: "zsh -f -i"
            case .fish: "fish --no-config -i"
            }
        }

        /// The line that reads the script.
        fileprivate var setUp: String {
            let source = "source ./completion.\(self)"
            return self == .zsh ? "autoload -Uz compinit; compinit -u -d ./dump; \(source)" : source
        }
    }

    let kind: Kind
    /// The folder in which the shell runs; a name that is expanded makes a file in it.
    let folder: String

    /// Cancels the test where the shell is missing.
    init(_ kind: Kind) throws {
        self.kind = kind
        for tool in [kind.rawValue, "script"] where !ShellCommand.has(tool) {
            try Test.cancel("needs \(tool)")
        }
        let (_, output) = ShellCommand.run("mktemp -d")
        folder = String(output.dropLast())
        try run(
            """
            chmod 0755 .
            mkdir bin home
            printf '%s\\n' '#!/bin/sh' '[ $# -gt 0 ] || exit' 'printf "%s\\n" "$@" END >>"$NOTES"' >bin/netflags
            printf '%s\\n' '#!/bin/sh' 'cat "$NAMES"' >bin/ls
            chmod +x bin/*
            '\(NetflagsProcess.path)' --generate-completion-script \(kind) >completion.\(kind)
            """)
    }

    deinit {
        _ = ShellCommand.run("rm -r '\(folder)'")
    }

    /// Runs a script in the folder.
    func run(_ script: String) throws {
        try ShellCommand.check("cd '\(folder)'; \(script)")
    }

    /// The command that types lines, then ends the shell.
    ///
    /// - Parameter lines: What is typed; a tab completes, the end of a line is the Enter key.
    /// - Returns: The command.
    /// - Throws: When the file with what is typed cannot be written.
    private func script(_ lines: [String]) throws -> String {
        let keys = ([kind.setUp] + lines + ["exit"]).map { $0 + "\n" }.joined()
        try write(keys, to: "keys")
        return """
            cd '\(folder)'; export NOTES='\(folder)/notes' NAMES='\(folder)/names' HOME='\(folder)/home'
            export PATH="$PWD/bin:$PATH" TERM=dumb
            script -qec '\(kind.command)' /dev/null <keys
            """
    }

    /// Types lines.
    ///
    /// - Returns: The arguments of each run of `netflags`.
    @discardableResult
    func type(_ lines: [String], with run: (String) throws -> Void = { _ = ShellCommand.run($0) }) throws
        -> [[String]]
    {
        try write("", to: "notes")
        try run(try script(lines))
        let notes = try readRecordingFile(folder + "/notes")
        let words = String(decoding: notes, as: UTF8.self).split(separator: "\n").map(String.init)
        return words.split(separator: "END").map(Array.init)
    }

    /// Writes a file of the folder.
    func write(_ text: String, to name: String) throws {
        let file = try #require(fopen("\(folder)/\(name)", "w"))
        fputs(text, file)
        fclose(file)
    }

    /// What is in the folder and should not be: the files that names make when a shell expands them.
    var traces: [String] {
        ShellCommand.run("ls '\(folder)' | grep pwned").output.split(separator: "\n").map(String.init)
    }
}
