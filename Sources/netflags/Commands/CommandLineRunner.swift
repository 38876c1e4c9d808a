// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CCommandLine
import NetlinkReachability
import NetlinkRoute
import RoutingModel

/// The entry point of the process: parses the arguments and runs the command that they name.
@main
enum CommandLineRunner {
    static func main() {
        Output.occupyClosedDescriptors()
        // Not CommandLine.arguments, which is empty where /proc is not mounted.
        let arguments = (1..<max(1, ccl_argument_count())).map { String(cString: ccl_argument($0)) }
        run(arguments).exit()
    }

    private static func run(_ arguments: [String]) -> ExitStatus {
        if let note = note(on: arguments) { printError(note) }
        do {
            if let query = TargetQuery(plain: arguments) { return try CheckRun(query).run() }
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

    /// A note about a target that looks like the name of a command; `nil` where there is none, or the command line
    /// names its command.
    ///
    /// A command comes first. `netflags --json watch` and `netflags wacht example.com` ask about hosts named "watch"
    /// and "wacht", which is seldom what the user means.
    static func note(on arguments: [String]) -> String? {
        guard let first = arguments.first, !Netflags.commandNames.contains(first) else { return nil }
        if let name = arguments.first(where: { !$0.hasPrefix("-") && Netflags.commandNames.contains($0) }) {
            return "asking about a host named \"\(name)\": to run the command, put it first"
        }
        guard !first.hasPrefix("-"), let name = Netflags.commandNames.first(where: first.isTypo)
        else { return nil }
        return "asking about a host named \"\(first)\": the command is \"\(name)\""
    }

    /// Why a command could not do its work; `nil` for what the parser threw.
    private static func message(of error: any Error) -> String? {
        switch error {
        case let error as ReachabilityError: error.description
        case let error as RecordingFault: error.description
        case let error as RoutingFault: error.message
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
        } else if arguments.contains(where: { $0.hasPrefix("--generate-completion-script") }) {
            message = RootCompletion.fullMessage(for: error)
        }
        var text = ByteBuffer()
        text.append(message)
        if text.bytes.last != UInt8(ascii: "\n") { text.append(UInt8(ascii: "\n")) }
        return Output.standard.deliver(&text) ? .success : .undetermined
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

extension String {
    /// Whether one insertion, deletion or replacement makes the text the other, or letters are in another order.
    fileprivate func isTypo(of other: String) -> Bool {
        let (left, right) = (Array(utf8), Array(other.utf8))
        guard abs(left.count - right.count) <= 1 else { return false }
        let start = zip(left, right).prefix { $0 == $1 }.count
        let (restLeft, restRight) = (left[start...], right[start...])
        if restLeft.count != restRight.count {
            let (long, short) =
                restLeft.count > restRight.count ? (restLeft, restRight) : (restRight, restLeft)
            return long.dropFirst().elementsEqual(short)
        }
        let isReplacement = restLeft.dropFirst().elementsEqual(restRight.dropFirst())
        return isReplacement || restLeft.sorted() == restRight.sorted()
    }
}

/// A long command line, split into targets and everything else.
///
/// The parser's time grows with the square of the number of arguments: thirty thousand targets would take it
/// half a minute.
struct TargetArguments {
    /// Command lines of so many arguments are left to the parser.
    static let limit = 64

    /// The options whose value is the next argument.
    static let optionsWithValue: Set<String> = [
        "--interface", "--source", "--mark", "--timeout", "--replay", "--format", "--count", "--until",
        "--exec", "--uid", "--protocol", "--port", "--source-port", "--tos",
    ]

    private(set) var targets: [String] = []
    /// The command, the options and their values.
    private(set) var others: [String] = []

    /// Splits a command line; `nil` for a short one and for a command without targets.
    init?(_ arguments: [String]) {
        guard arguments.count > Self.limit, let first = arguments.first else { return nil }
        var rest = arguments[...]
        if Netflags.commandNames.contains(first) {
            guard ["check", "watch", "wait"].contains(first) else { return nil }
            others = [first]
            rest = rest.dropFirst()
        }
        while let argument = rest.popFirst() {
            if argument == "--" {
                targets += rest
                return
            }
            guard argument != "-", argument.utf8.first == UInt8(ascii: "-") else {
                targets.append(argument)
                continue
            }
            others.append(argument)
            if Self.optionsWithValue.contains(argument), let value = rest.popFirst() { others.append(value) }
        }
    }
}

extension TargetQuery {
    /// Parses a command line of nothing but targets; `nil` for any other.
    ///
    /// The parser gives the same query, and takes longer than the evaluation.
    init?(plain arguments: [String]) {
        guard let first = arguments.first, !Netflags.commandNames.contains(first),
            !arguments.contains(where: { $0.utf8.first == UInt8(ascii: "-") })
        else { return nil }
        self.init(targets: arguments)
    }
}
