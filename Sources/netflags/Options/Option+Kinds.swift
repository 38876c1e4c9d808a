// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
import NetlinkRecording

extension Option {
    /// An option for a word.
    ///
    /// - Parameters:
    ///   - abstract: What the option does.
    ///   - name: The name of its value in the help.
    ///   - completion: The words that completion offers.
    init<Word: ExpressibleByArgument>(
        word abstract: String, _ name: String, _ completion: CompletionKind? = nil
    ) where Value == Word? {
        self.init(help: ArgumentHelp(abstract, valueName: name), completion: completion)
    }

    /// An option for a word that a function parses.
    init<Parsed>(
        name: NameSpecification = .long, word abstract: String, _ valueName: String,
        _ completion: CompletionKind? = nil,
        parsedBy transform: @escaping @Sendable (String) throws -> Parsed
    ) where Value == Parsed? {
        self.init(
            name: name, help: ArgumentHelp(abstract, valueName: valueName), completion: completion,
            transform: transform)
    }

    /// An option for a number.
    ///
    /// Text that begins with a minus sign is its value, not another option.
    ///
    /// - Parameters:
    ///   - abstract: What the option does.
    ///   - name: The name of its value in the help.
    ///   - transform: Parses the value.
    init<Number>(
        number abstract: String, _ name: String,
        _ transform: @escaping @Sendable (String) throws -> Number
    ) where Value == Number? {
        self.init(
            parsing: .unconditional, help: ArgumentHelp(abstract, valueName: name), transform: transform)
    }
}

extension Option where Value == String? {
    /// An option for the name of a file.
    ///
    /// - Parameters:
    ///   - name: The name of the option; by default that of the property.
    ///   - abstract: The description of the option.
    ///   - extensions: The extensions of file names that completion offers; empty for all.
    init(name: NameSpecification = .long, file abstract: String, extensions: [String] = []) {
        self.init(
            name: name, help: ArgumentHelp(abstract, valueName: "file"),
            completion: .file(extensions: extensions))
    }
}

extension Option where Value == RecordedTime? {
    /// An option for a time of a recording.
    ///
    /// - Parameter abstract: What the option does.
    init(time abstract: String) {
        self.init(number: abstract, "time", RecordedTime.init)
    }
}

extension Option where Value == ReachabilityReport.Change {
    /// The option `--changes`.
    ///
    /// - Parameters:
    ///   - wrappedValue: The default.
    ///   - effect: The effect of a change.
    init(wrappedValue: Value, changes effect: String) {
        self.init(
            wrappedValue: wrappedValue,
            help: ArgumentHelp(
                "\(effect): flags, or report (also the reason, interface, gateway and source address).",
                valueName: "what"),
            completion: .list(["flags", "report"])
        ) { text in
            guard let changes = Value(rawValue: text) else {
                throw UsageError("\"\(text)\" is not a kind of change: give flags or report")
            }
            return changes
        }
    }
}

extension CompletionKind {
    /// The names that a shell command prints, one per line, without names that a shell would interpret.
    ///
    /// Names with other characters than letters, digits, `_`, `.`, `@` and `-` are not offered, nor are names that
    /// begin like an option or a hidden file. Others can choose such names: the name of an interface can contain
    /// nearly any byte.
    ///
    /// - Parameter command: The command. It must not contain a colon, which would end the command in zsh.
    /// - Returns: The kind.
    static func names(printedBy command: String) -> CompletionKind {
        // In the locale C, only ASCII letters are letters.
        .shellCommand("\(command) | env LC_ALL=C grep -axE '[A-Za-z0-9_][A-Za-z0-9_.@-]*'")
    }
}

extension ArgumentHelp {
    /// The targets of commands that resolve names.
    static let targets = ArgumentHelp(
        "A host name, an address, address%interface, default (the default path), or - for stdin.",
        valueName: "target")
    /// The targets of commands that evaluate tables.
    static let recordedTargets = ArgumentHelp(
        "An address, address%interface, or default (the default path).", valueName: "target")
}

// This is not an option group: the parser looks up each group among the conformances of the program, which takes a
// part of each start-up.
extension Option where Value == Duration {
    /// The option `--timeout` of commands that resolve names.
    init(wrappedValue: Value, limitOf work: String) {
        self.init(
            wrappedValue: wrappedValue,
            parsing: .unconditional,
            help: ArgumentHelp(
                "Time limit for \(work): seconds, or such as 500ms or 2m; 0 does not wait. (default: 5)",
                valueName: "duration"),
            transform: OptionValue.duration)
    }
}
