// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// What is wrong with a command line, in one form for the parser's messages and the program's own.
struct ParserMessage {
    /// The message, on one line.
    let text: String
    /// The option that the command does not know, with its hyphens; `nil` for another mistake.
    private let option: String?
    /// The commands that have the option.
    private let owners: [String]

    /// - Parameter message: A message of the parser or of the program.
    ///
    /// The parser breaks some messages into lines, repeats a value that the reason has, and suggests any option with
    /// three other letters: one that is not a typo of it, or is an option of another command, is left out.
    init(_ message: String) {
        let lines = message.split(whereSeparator: \.isNewline)
        var text = lines.map { $0.drop { $0 == " " } }.joined(separator: " ")
        if let match = text.wholeMatch(of: /The value '.*' is invalid for '([^ ']+).*?': (.*)/)?.output {
            text = "\(match.1): \(match.2)"
        }
        let choice = /The value '(.*)' is invalid for '([^ ']+).*?'\. Please provide one of (.*)\./
        if let match = text.wholeMatch(of: choice)?.output {
            text = "\(match.2): \"\(match.1)\" is not known: give one of \(match.3.replacing("'", with: ""))"
        }
        let unknown = text.firstMatch(of: /Unknown option '(--?([^']+))'(\. Did you mean '--([^']+)'\?)?/)?
            .output
        let option = unknown.map { String($0.1) }
        owners = option.map(Self.commands(withOption:)) ?? []
        self.option = option
        if let unknown, let suggestion = unknown.3, let name = unknown.4,
            !owners.isEmpty || !String(unknown.2).isTypo(of: String(name))
        {
            text.replace(suggestion, with: "", maxReplacements: 1)
        }
        let isOfParser = text.prefixMatch(of: #/(Unknown|Missing|Unexpected|The) /#) != nil
        self.text = isOfParser ? text.prefix(1).lowercased() + text.dropFirst() : text
    }

    /// What helps beside the message.
    ///
    /// - Parameter command: The command; `nil` where the command line does not name it.
    /// - Returns: The commands that have the option, or what the command takes.
    func notes(on command: String?) -> [String] {
        if let option {
            return owners.isEmpty ? [] : ["\(option) is an option of \(owners.joined(separator: ", "))"]
        }
        guard text.contains("xpected argument"), let note = command.flatMap({ Self.operands[$0] }) else {
            return []
        }
        return [note]
    }

    /// What commands take that have other operands than a list of targets.
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

    private static func commands(withOption option: String) -> [String] {
        Netflags.subcommands.filter { command in
            Netflags.helpMessage(for: command, columns: 80).split(separator: "\n").contains { line in
                line.hasPrefix("  -") && line.split { " ,/".contains($0) }.contains { $0 == option }
            }
        }.compactMap { $0.configuration.commandName }
    }
}
