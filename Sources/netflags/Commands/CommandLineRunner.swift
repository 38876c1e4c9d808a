// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CCommandLine
import NetlinkRecording
import SystemSupport

/// The entry point of the process: parses the arguments and runs the command that they name.
@main
enum CommandLineRunner {
    static func main() {
        Output.occupyClosedDescriptors()
        // CommandLine.arguments is empty if /proc is not mounted.
        let arguments = (1..<max(1, ccl_argument_count())).map { String(fileName: ccl_argument($0)) }
        do {
            try run(arguments).exit()
        } catch {
            printError("\(error)")
            ExitStatus.undetermined.exit()
        }
    }

    /// - Throws: The error of a command that failed.
    private static func run(_ arguments: [String]) throws -> ExitStatus {
        let command: any NetflagsCommand
        do {
            try checkHelp(arguments)
            let (parsable, targets) = split(arguments)
            var parsed = try Netflags.parseCommand(parsable)
            if !targets.isEmpty, var list = parsed as? any TargetListCommand {
                list.targets += targets
                command = list
            } else if !targets.isEmpty {
                throw UsageError("unexpected argument \"\(targets[0])\"")
            } else if let known = parsed as? any NetflagsCommand {
                command = known
            } else {
                // The parser's help command throws the help text.
                try parsed.run()
                return .success
            }
        } catch {
            return try report(error, arguments)
        }
        hint(on: arguments).map(printError)
        do {
            return try command.perform()
        } catch let error as UsageError {
            return reportUsage(error.description, arguments)
        }
    }

    /// Splits the arguments into those for the parser, and the targets at the end of a long list.
    ///
    /// The parser compares each argument with all others, which takes seconds for thousands of arguments. Arguments
    /// after the last option and its value are targets for a command with a target list, and an error for any other
    /// command.
    private static func split(_ arguments: [String]) -> (parsable: [String], targets: [String]) {
        guard arguments.first != CommandName.whatIf.rawValue else {
            return (WhatIf.readable(arguments), [])
        }
        let lastOption = arguments.lastIndex { $0.hasPrefix("-") } ?? -1
        let end = min(arguments.count, lastOption + 1 + parsedOperands)
        return (Array(arguments[..<end]), Array(arguments[end...]))
    }

    /// The most arguments after the last option that are passed to the parser.
    private static let parsedOperands = 64

    /// A note about a target that looks like the name of a command; `nil` if there is none, or if the command line
    /// begins with a command.
    ///
    /// A command comes first. `netflags --json watch` and `netflags wacht example.com` query hosts named "watch" and
    /// "wacht", which the user rarely intends.
    static func hint(on arguments: [String]) -> String? {
        guard let first = arguments.first, !CommandName.all.contains(first) else { return nil }
        if let name = arguments.first(where: { !$0.hasPrefix("-") && CommandName.all.contains($0) }) {
            return "asking about a host named \"\(name)\": to run the command, put it first"
        }
        guard !first.hasPrefix("-"), let name = CommandName.all.first(where: first.isTypo)
        else { return nil }
        return "asking about a host named \"\(first)\": the command is \"\(name)\""
    }

    /// Throws for `netflags help WORD` without a command of that name, which the parser takes for `netflags help`.
    private static func checkHelp(_ arguments: [String]) throws(UsageError) {
        guard arguments.first == "help", arguments.count > 1 else { return }
        guard CommandName.all.contains(arguments[1]) || arguments[1].hasPrefix("-") else {
            let names = CommandName.all.dropLast().joined(separator: ", ")
            throw UsageError("there is no command \"\(arguments[1])\": give one of \(names)")
        }
    }

    /// Prints the parser's error: help, the version or a completion script on standard output, an error on standard
    /// error.
    private static func report(_ error: any Error, _ arguments: [String]) throws -> ExitStatus {
        guard Netflags.exitCode(for: error).isSuccess else {
            hint(on: arguments).map(printError)
            return reportUsage(Netflags.message(for: error), arguments)
        }
        var message = Netflags.fullMessage(for: error)
        if arguments.contains(where: Netflags.isCompletion) {
            message = CompletionScript.safe(RootCompletion.fullMessage(for: error))
        }
        try Output.standard.deliver { $0.append(message.hasSuffix("\n") ? message : message + "\n") }
        return .success
    }

    private static func reportUsage(_ message: String, _ arguments: [String]) -> ExitStatus {
        let name = arguments.first.flatMap { CommandName.all.contains($0) ? $0 : nil }
        let message = ParserMessage(message, of: name)
        printError(message.text)
        let isRoot = arguments.isEmpty || name == "help"
        printError("see netflags \(isRoot ? "" : "\(name ?? "check") ")--help")
        for note in message.notes { printError(note) }
        return .usage
    }

}

extension String {
    /// Whether two texts differ by one insertion, deletion or replacement, or only in the order of their letters.
    func isTypo(of other: String) -> Bool {
        let (left, right) = (Array(utf8), Array(other.utf8))
        let start = zip(left, right).prefix { $0 == $1 }.count
        let (rest, other) = (left.dropFirst(start), right.dropFirst(start))
        return rest.dropFirst().elementsEqual(other) || rest.elementsEqual(other.dropFirst())
            || rest.dropFirst().elementsEqual(other.dropFirst()) || rest.sorted() == other.sorted()
    }
}
