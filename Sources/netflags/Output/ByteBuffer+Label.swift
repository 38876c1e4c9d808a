// SPDX-License-Identifier: Apache-2.0

extension ByteBuffer {
    /// Appends a line with a label, and on a terminal wraps its text between words.
    ///
    /// - Parameters:
    ///   - label: The label.
    ///   - text: The text.
    ///   - margin: How many spaces come before the label.
    ///   - indentation: The column in which the text begins.
    ///   - width: The width of the terminal; `nil` for text that is not wrapped.
    mutating func line(
        _ label: String,
        _ text: String,
        margin: Int = 0,
        indentation: Int,
        width: Int? = Output.standard.terminalWidth
    ) {
        append(spaces: margin)
        append(label)
        append(spaces: indentation - margin - label.utf8.count)
        if let width, indentation + text.columns > width {
            append(words: text, from: indentation, wrappedAt: width)
        } else {
            append(printable: text)
        }
        append("\n")
    }

    /// Appends text that begins in a column, and continues there where the width is reached.
    mutating func append(words text: String, from indentation: Int, wrappedAt width: Int) {
        var column = indentation
        for (index, word) in text.split(separator: " ", omittingEmptySubsequences: false).enumerated() {
            let length = String(word).columns
            if index > 0, column + 1 + length > width, column > indentation {
                append("\n")
                append(spaces: indentation)
                column = indentation
            } else if index > 0 {
                append(" ")
                column += 1
            }
            append(printable: String(word))
            column += length
        }
    }
}
