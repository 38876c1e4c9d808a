// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// An error about a command line, in one form for messages of the parser and of the program.
struct ParserMessage {
    /// The message, on one line.
    let text: String
    /// Hints: the commands that have an option, or the operands of the command.
    let notes: [String]

    /// - Parameters:
    ///   - message: A message of the parser or of the program.
    ///   - command: The command; `nil` if the command line does not name one.
    ///
    /// The parser breaks some messages into lines, repeats a value that is in the reason, and suggests any option
    /// that differs in three letters.
    init(_ message: String, of command: String? = nil) {
        let lines = message.split(whereSeparator: \.isNewline)
        var text = lines.map { $0.drop { $0 == " " } }.joined(separator: " ")
        if let match = text.wholeMatch(of: /The value '.*' is invalid for '([^ ']+).*?': (.*)/)?.output {
            text = "\(match.1): \(match.2)"
        }
        let choice = /The value '(.*)' is invalid for '([^ ']+).*?'\. Please provide one of (.*)\./
        if let match = text.wholeMatch(of: choice)?.output {
            text = "\(match.2): \"\(match.1)\" is not known: give one of \(match.3.replacing("'", with: ""))"
        }
        if let (_, option, name) = text.prefixMatch(of: /Unknown option '(--?([^']+))'/)?.output {
            notes = Self.advice(on: String(option), named: String(name), of: command)
            let meant = notes.isEmpty ? Self.option(meantBy: String(name), of: command) : nil
            text = "Unknown option '\(option)'" + (meant.map { ". Did you mean '--\($0)'?" } ?? "")
        } else {
            let note = text.contains("xpected argument") ? command.flatMap { Self.operands[$0] } : nil
            notes = note.map { [$0] } ?? []
        }
        let isOfParser = text.prefixMatch(of: #/(Unknown|Missing|Unexpected|The) /#) != nil
        self.text = isOfParser ? text.prefix(1).lowercased() + text.dropFirst() : text
    }

    /// Hints for commands whose operands are not a list of targets.
    private static let operands = [
        "path": "path is the default path: netflags check TARGET asks about a target",
        "sockets": "sockets lists all connected sockets: its options select some",
        "doctor": "doctor is about this host, and takes nothing but options",
        "record": "record takes one file, or with --keep one directory",
        "timeline": "timeline takes a recording, then targets: netflags timeline RECORDING default",
        "diff":
            "diff takes two recordings, and live is the running kernel: netflags diff RECORDING live",
        "assert": "assert takes a file with one expectation a line, such as default reachable",
    ]

    /// A hint about an option that is the name of a command, or that belongs to other commands.
    private static func advice(on option: String, named name: String, of command: String?) -> [String] {
        if command == nil, CommandName.all.contains(name) {
            return ["\(name) is a command, and comes first: netflags \(name)"]
        }
        let owners = Netflags.subcommands.filter { options(of: $0).contains(option) }
            .compactMap { $0.configuration.commandName }
        return owners.isEmpty ? [] : ["\(option) is an option of \(owners.joined(separator: ", "))"]
    }

    /// The option of a command that a name is a typo of, or an abbreviation of with at least three letters.
    private static func option(meantBy name: String, of command: String?) -> String? {
        let known = Netflags.command(named: command) ?? Check.self
        return options(of: known).filter { $0.hasPrefix("--") }.map { String($0.dropFirst(2)) }
            .first { name.isTypo(of: $0) || name.count > 2 && $0.hasPrefix(name) }
    }

    /// The options of a command with their hyphens, as listed in its help.
    private static func options(of command: any ParsableCommand.Type) -> [String] {
        Netflags.helpMessage(for: command, columns: 80).split(separator: "\n").filter { $0.hasPrefix("  -") }
            .flatMap { line in line.split { " ,".contains($0) }.prefix { $0.hasPrefix("-") }.map(String.init)
            }
    }
}
