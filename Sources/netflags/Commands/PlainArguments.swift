// SPDX-License-Identifier: Apache-2.0

extension CheckQuestion {
    /// The words that name a command when they come first; `help` is the parser's own.
    static let commandWords = ["check", "watch", "wait", "path", "record", "doctor", "help"]

    /// Understands a command line of nothing but targets; `nil` for any other.
    ///
    /// The parser of arguments would come to the same question, and take longer over it than everything else
    /// together.
    init?(plain arguments: [String]) {
        guard let first = arguments.first, !Self.commandWords.contains(first),
            !arguments.contains(where: { $0.utf8.first == UInt8(ascii: "-") })
        else { return nil }
        self.init(targets: arguments)
    }
}
