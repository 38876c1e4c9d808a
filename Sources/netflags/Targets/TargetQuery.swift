// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import NetlinkReachability
internal import NetlinkRecording
import SystemSupport

/// The parsed command line of `check`, `watch` and `wait`.
struct TargetQuery: Hashable {
    /// The format of the output.
    enum Format: String, OutputFormat {
        case text
        case json
        case prometheus
    }

    /// The targets as given; `-` stands for the targets on standard input.
    var targets: [String]
    var options = ReachabilityOptions()
    var format = Format.text
    var explains = false
    /// Whether only the exit status is needed.
    var isQuiet = false
    /// The recording to evaluate; `nil` for the live kernel.
    var recording: RecordedInstant?

    /// Parses all targets before the first is evaluated, and prints the notes about them.
    func operands() throws(UsageError) -> [Operand] {
        try UsageError.require(
            targets.count(where: { $0 == "-" }) <= 1, "stdin can be read only once: give - once")
        guard recording?.operand != "-" || !targets.contains("-") else {
            throw UsageError("stdin is either the recording or the targets: give a file for one of them")
        }
        guard format != .prometheus || !targets.contains("-") else {
            throw UsageError("metrics need targets that stay the same: give them as arguments, not as -")
        }
        return try targets.map { (text) throws(UsageError) in
            if text == "-" { return .standardInput }
            let target = Result { () throws(ReachabilityError) in try self.target(text) }
            if !isQuiet, (try? target.get())?.isName ?? true, let note = Self.hint(on: text) {
                printError(note)
            }
            return try UsageError.wrapping { .target(text, try target.get()) }
        }
    }

    /// A note about a name that is also the name of an interface or of a recording, or resembles a word of the
    /// command line.
    ///
    /// `nil` for other names.
    ///
    /// The resolver can need seconds for such a name.
    static func hint(on name: String) -> String? {
        let advice: String? =
            if name.hasSuffix(".rtnl"), access(name.fileName, F_OK) == 0 {
                "for the recording, write netflags --replay \(name) default"
            } else if name == "live" {
                "the running kernel is asked without --replay"
            } else if if_nametoindex(name) != 0 {
                "for the interface, write netflags --interface \(name) default"
            } else {
                !name.contains(".") && name.lowercased().isTypo(of: "default")
                    ? "the default path is \"default\"" : nil
            }
        return advice.map { "asking about a host named \"\(name)\": \($0)" }
    }

    /// Parses targets that are looked up in routing tables, which contain no names.
    func recordedTargets(needsOne: Bool = false) throws(UsageError) -> [NamedTarget] {
        try UsageError.require(
            !needsOne || !targets.isEmpty, "no target: give an address, or default for the default path")
        return try operands().map { (operand) throws(UsageError) in
            guard case .target(let text, let target) = operand else {
                throw UsageError("stdin is for a recording here: give targets as arguments")
            }
            try UsageError.require(
                !target.isName,
                "\"\(text)\" is a name, and tables hold addresses: give one that netflags order \(text) "
                    + "prints, or default for the default path")
            return (text, target)
        }
    }

    /// Whether routing tables have an answer for a text: the text is an address, or the default path.
    static func isRecordedTarget(_ text: String) -> Bool {
        let target = try? TargetQuery(targets: []).target(text)
        return target.map { !$0.isName } ?? false
    }

    /// Parses a target: a host, or `default`.
    ///
    /// - Throws: A ``ReachabilityError`` if the text is not a host, or the options contradict it.
    func target(_ text: String) throws(ReachabilityError) -> ReachabilityTarget {
        try SocketText.target(text, options)
    }

    /// Reads all targets, including the targets on standard input.
    func readTargets(
        of operands: [Operand], onFailure: (FileFailure) throws -> Void = { throw $0 }
    ) throws -> [ReadTarget] {
        var all: [ReadTarget] = []
        try forEachTarget(of: operands, onFailure: onFailure) { all.append(($0, $1)) }
        return all
    }

    /// Passes each target to the body, and the targets on standard input line by line.
    ///
    /// - Parameters:
    ///   - operands: The parsed arguments.
    ///   - beforeReading: Called before each read of standard input, as a read can block.
    ///   - onFailure: Called if standard input cannot be read; the arguments after it follow unless it throws.
    ///   - body: Receives the text of a target, and the target or the error that prevented it.
    /// - Throws: Errors of `beforeReading`, `onFailure` and `body`.
    func forEachTarget(
        of operands: [Operand],
        beforeReading: () throws -> Void = {},
        onFailure: (FileFailure) throws -> Void = { throw $0 },
        _ body: (String, ParsedTarget) throws -> Void
    ) throws {
        for operand in operands {
            switch operand {
            case .target(let text, let target): try body(text, .success(target))
            case .standardInput:
                var lines = TargetLines(descriptor: STDIN_FILENO)
                do {
                    while let line = try lines.next(beforeReading: beforeReading) {
                        switch line {
                        case .tooLong(let start):
                            try body(start, .failure(SocketText.invalid(TargetLines.tooLongMessage)))
                        case .target(let text):
                            try body(text, Result { () throws(ReachabilityError) in try target(text) })
                        }
                    }
                } catch let failure as FileFailure {
                    try onFailure(failure)
                }
            }
        }
    }
}

/// A target, and its text as given.
typealias NamedTarget = (text: String, target: ReachabilityTarget)

/// A text on standard input or the command line, and its target or the error that prevented it.
typealias ReadTarget = (text: String, target: ParsedTarget)

/// A target, or the reason why a text is not a target.
typealias ParsedTarget = Result<ReachabilityTarget, ReachabilityError>

/// A parsed argument of `check`, `watch` and `wait`.
enum Operand: Hashable {
    /// A target, and its text as given.
    case target(String, ReachabilityTarget)
    /// The targets on standard input.
    case standardInput
}

extension ReachabilityTarget {
    /// Whether the target must be resolved.
    var isName: Bool {
        if case .host = kind { true } else { false }
    }
}
