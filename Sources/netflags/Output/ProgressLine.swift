// SPDX-License-Identifier: Apache-2.0

/// A line on a terminal that shows how far a command is, and is rewritten.
struct ProgressLine {
    /// How long a command runs before it has a line.
    static let delay = Duration.seconds(1)

    private let output: Output
    private let total: Int
    /// When the line is first shown; `nil` for never.
    private let due: ContinuousClock.Instant?
    /// The length of what is shown.
    private var width = 0

    /// Prepares a line; nothing is shown where the output is not a terminal.
    init(total: Int, output: Output = .error) {
        self.init(total: total, output: output, due: output.isTerminal ? .now + Self.delay : nil)
    }

    init(total: Int, output: Output, due: ContinuousClock.Instant?) {
        (self.total, self.output, self.due) = (total, output, due)
    }

    /// Shows how many targets are compared.
    mutating func show(_ count: Int) {
        guard let due, due <= .now else { return }
        let text = "compared \(count) of \(total) targets"
        write("\r" + text)
        width = text.utf8.count
    }

    /// Erases the line, before something else is printed.
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
