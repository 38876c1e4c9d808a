// SPDX-License-Identifier: Apache-2.0

/// A line on a terminal that shows the progress of a command, and is rewritten.
struct ProgressLine {
    /// The time that a command runs before the line is shown.
    static let delay = Duration.seconds(1)

    private let output: Output
    private let total: Int
    /// The noun for the counted objects.
    private let noun: String
    /// What has been done with them.
    private let verb: String
    /// When the line is first shown; `nil` if it is never shown.
    var due: ContinuousClock.Instant?
    /// The length of the shown text.
    private var width = 0

    /// Prepares a line, which stays hidden if the output is not a terminal.
    init(total: Int, _ noun: String = "targets", verb: String = "compared", output: Output = .error) {
        (self.total, self.noun, self.verb, self.output) = (total, noun, verb, output)
        due = output.isTerminal ? .now + Self.delay : nil
    }

    /// Shows the number of objects that are done.
    mutating func show(_ count: Int) {
        guard let due, due <= .now else { return }
        let text = "\(verb) \(count) of \(total) \(noun)"
        write("\r" + text)
        width = text.utf8.count
    }

    /// Erases the line, before other text is printed.
    mutating func erase() {
        guard width > 0 else { return }
        write("\r" + String(repeating: " ", count: width) + "\r")
        width = 0
    }

    private func write(_ text: String) {
        var buffer = ByteBuffer()
        buffer.append(text)
        try? output.write(&buffer)
    }
}
