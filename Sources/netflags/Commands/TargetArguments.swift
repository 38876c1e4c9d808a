// SPDX-License-Identifier: Apache-2.0

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
