// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc

/// A command that ends with a status of its own.
protocol NetflagsCommand: ParsableCommand {
    /// Does what was asked.
    func perform() throws(UsageFault) -> ExitStatus
}

/// A command that takes any number of targets.
protocol TargetCommand: NetflagsCommand {
    var targets: [String] { get set }
}

extension Netflags {
    /// Runs what the arguments ask for.
    static func parseAndRun(_ arguments: [String]) -> ExitStatus {
        do {
            var command = try parsed(arguments)
            if let command = command as? any NetflagsCommand { return try command.perform() }
            // Help is a command too, and throws its text.
            try command.run()
            return .success
        } catch let fault as UsageFault {
            complain(fault.message)
            return .usage
        } catch {
            return report(error)
        }
    }

    /// Parses the arguments, the last ones of many by ourselves.
    ///
    /// The parser's time grows with the square of their number: ten thousand targets would take it most of a
    /// minute. What follows the last option and its value can only be targets.
    private static func parsed(_ arguments: [String]) throws -> any ParsableCommand {
        let lastOption = arguments.lastIndex { $0.utf8.first == UInt8(ascii: "-") } ?? 0
        let (head, tail) = (arguments.prefix(lastOption + 2), arguments.dropFirst(lastOption + 2))
        guard tail.count > 64, var command = try parseAsRoot(Array(head)) as? any TargetCommand else {
            return try parseAsRoot(arguments)
        }
        command.targets += tail
        return command
    }

    /// Prints what the parser has to say: help, a version or a script on standard output, a complaint on
    /// standard error.
    private static func report(_ error: any Error) -> ExitStatus {
        guard exitCode(for: error).isSuccess else {
            complain(message(for: error))
            complain("see netflags --help")
            return .usage
        }
        var text = ByteBuffer()
        text.append(fullMessage(for: error))
        if text.bytes.last != UInt8(ascii: "\n") { text.append(UInt8(ascii: "\n")) }
        return Output.standard.deliver(&text) ? .success : .undetermined
    }
}
