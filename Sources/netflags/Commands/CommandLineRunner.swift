// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
import NetlinkRoute
import RoutingModel
import SystemSupport

/// Parses the arguments and runs the command that they name.
enum CommandLineRunner {
    static func run(_ arguments: [String]) -> ExitStatus {
        CommandNote(arguments).map { printError($0.message) }
        do {
            if let query = TargetQuery(plain: arguments) { return try query.check() }
            try checkHelp(arguments)
            var command = try parse(arguments)
            if let command = command as? any NetflagsCommand { return try command.perform() }
            // The parser's help command throws its text.
            try command.run()
            return .success
        } catch let error as UsageError {
            return reportUsage(error.message, arguments)
        } catch {
            guard let message = message(of: error) else { return report(error, arguments) }
            printError(message)
            return .undetermined
        }
    }

    /// Why a command could not do its work; `nil` for what the parser threw.
    private static func message(of error: any Error) -> String? {
        switch error {
        case let error as ReachabilityError: error.description
        case let error as RecordingFault: error.description
        case let error as RoutingFault: error.message
        case let error as SystemCallError: error.message
        case let error as Output.Failure: error.message
        case let error as OutputFile.Failure: error.message
        default: nil
        }
    }

    /// Throws for `netflags help WORD` without a command of that name, which the parser takes for `netflags help`.
    private static func checkHelp(_ arguments: [String]) throws(UsageError) {
        guard arguments.first == "help", arguments.count > 1 else { return }
        guard Netflags.commandNames.contains(arguments[1]) || arguments[1].hasPrefix("-") else {
            let names = Netflags.commandNames.dropLast().joined(separator: ", ")
            throw UsageError("there is no command \"\(arguments[1])\": give one of \(names)")
        }
    }

    /// Parses the arguments, the targets of many apart from the options.
    private static func parse(_ arguments: [String]) throws -> any ParsableCommand {
        guard let split = TargetArguments(arguments) else { return try Netflags.parseAsRoot(arguments) }
        let command = try Netflags.parseAsRoot(split.others)
        guard var command = command as? any TargetCommand else { return command }
        command.targets = split.targets
        return command
    }

    /// Prints what the parser threw: help, the version or a completion script on standard output, an error on
    /// standard error.
    private static func report(_ error: any Error, _ arguments: [String]) -> ExitStatus {
        guard Netflags.exitCode(for: error).isSuccess else {
            return reportUsage(Netflags.message(for: error), arguments)
        }
        var message = Netflags.fullMessage(for: error)
        if message == Netflags.helpMessage() {
            message = RootHelp.helpMessage()
        } else if let shell = completionShell(arguments) {
            message = RootCompletion.completionScript(for: shell)
        }
        var text = ByteBuffer()
        text.append(message)
        if text.bytes.last != UInt8(ascii: "\n") { text.append(UInt8(ascii: "\n")) }
        return Output.standard.deliver(&text) ? .success : .undetermined
    }

    /// The shell of `--generate-completion-script SHELL`.
    private static func completionShell(_ arguments: [String]) -> CompletionShell? {
        let prefix = "--generate-completion-script"
        guard let place = arguments.firstIndex(where: { $0.hasPrefix(prefix) }) else { return nil }
        if arguments[place].hasPrefix(prefix + "=") {
            return CompletionShell(rawValue: String(arguments[place].dropFirst(prefix.count + 1)))
        }
        let next = arguments.dropFirst(place + 1).first
        return next.map { CompletionShell(rawValue: $0) } ?? CompletionShell.autodetected()
    }

    private static func reportUsage(_ message: String, _ arguments: [String]) -> ExitStatus {
        // The parser breaks some messages into lines.
        let lines = message.split(whereSeparator: \.isNewline)
        printError(lines.map { $0.drop { $0 == " " } }.joined(separator: " "))
        let name = arguments.first.flatMap { Netflags.commandNames.contains($0) ? $0 : nil }
        let isRoot = name == nil || name == "check" || name == "help"
        printError("see netflags \(isRoot ? "" : "\(name ?? "") ")--help")
        return .usage
    }
}
