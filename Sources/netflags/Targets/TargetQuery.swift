// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRecording

/// The parsed command line of `check`, `watch` and `wait`.
struct TargetQuery: Hashable {
    /// The format of the output.
    enum Format: String, CaseIterable {
        case text
        case json
        case prometheus
    }

    /// The targets as given; `-` stands for those on standard input.
    var targets: [String]
    var options = ReachabilityOptions()
    var format = Format.text
    var explains = false
    /// Whether only the exit status is of interest.
    var isQuiet = false
    /// The recording to evaluate; `nil` for the kernel.
    var recording: RecordedInstant?

    /// Parses all targets, before any is evaluated.
    func operands() throws(UsageError) -> [Operand] {
        guard targets.count(where: { $0 == "-" }) <= 1 else {
            throw UsageError("stdin can be read only once: give - once")
        }
        guard recording?.operand != "-" || !targets.contains("-") else {
            throw UsageError("stdin is either the recording or the targets: give a file for one of them")
        }
        guard format != .prometheus || !targets.contains("-") else {
            throw UsageError("metrics need targets that stay the same: give them as arguments, not as -")
        }
        return try targets.map { (text) throws(UsageError) in
            if text == "-" { return .standardInput }
            do {
                return .target(text, try target(text))
            } catch {
                throw UsageError("\(error)")
            }
        }
    }

    /// Parses a target: a host, or `default`.
    ///
    /// - Throws: A ``ReachabilityError`` when the text is no host, or the options contradict it.
    func target(_ text: String) throws(ReachabilityError) -> ReachabilityTarget {
        try SocketText.target(text, options)
    }

    /// Parses a line of standard input.
    ///
    /// - Returns: The text of the line, and its target or why it has none.
    func target(
        on line: TargetLines.Line
    ) -> (text: String, target: Result<ReachabilityTarget, ReachabilityError>) {
        switch line {
        case .tooLong(let start): (start, .failure(SocketText.invalid(TargetLines.tooLongMessage)))
        case .target(let text):
            (text, Result { () throws(ReachabilityError) in try target(text) })
        }
    }

    /// Passes each target to the body, those on standard input line by line.
    ///
    /// - Parameters:
    ///   - operands: The parsed arguments.
    ///   - beforeReading: Called before a read of standard input, which can block.
    ///   - onFailure: Called when standard input cannot be read; the arguments after it follow.
    ///   - body: Takes the text of a target, and the target or why it has none.
    /// - Throws: What `beforeReading`, `onFailure` and `body` throw.
    func forEachTarget(
        of operands: [Operand],
        beforeReading: () throws -> Void = {},
        onFailure: (TargetLines.Failure) throws -> Void = { printError("\($0)") },
        _ body: (String, Result<ReachabilityTarget, ReachabilityError>) throws -> Void
    ) throws {
        for operand in operands {
            switch operand {
            case .target(let text, let target): try body(text, .success(target))
            case .standardInput:
                var lines = TargetLines(descriptor: STDIN_FILENO)
                do {
                    while let line = try lines.next(beforeReading: beforeReading) {
                        let (text, target) = target(on: line)
                        try body(text, target)
                    }
                } catch let failure as TargetLines.Failure {
                    try onFailure(failure)
                }
            }
        }
    }
}

/// A parsed argument of `check`, `watch` and `wait`.
enum Operand: Hashable {
    /// A target and the text it was given as.
    case target(String, ReachabilityTarget)
    /// The targets on standard input.
    case standardInput
}

extension ReachabilityTarget {
    /// Whether the target has to be resolved.
    var isName: Bool {
        if case .host = kind { true } else { false }
    }
}
