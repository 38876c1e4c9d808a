// SPDX-License-Identifier: Apache-2.0

/// A table for people: rows of cells, whose columns are as wide as their widest cell so far.
///
/// Rows are kept until they are flushed. The last cell of a row has any width, and a row can have fewer cells than
/// others. The text of all rows is in one buffer, so that a cell needs no memory of its own. On a terminal, the
/// headings are the first row.
struct TextTable {
    private let isColoured: Bool
    /// The width to which rows are cut; `nil` for whole rows.
    private let lineWidth: Int?
    private var widths: [Int]
    /// The headings that have not been added yet; `nil` if there are none.
    private var headings: [String]?
    private var text = ByteBuffer()
    /// The width of each cell, the width that its column must have for it, and the end of the cell in ``text``.
    private var cells: [(columns: Int, width: Int, end: Int)] = []
    /// The end of each row in ``cells``, the end of the lines below the row in ``text``, and whether the row is never
    /// cut to the width of the terminal.
    private var rows: [(cells: Int, end: Int, isWhole: Bool)] = []

    /// - Parameters:
    ///   - headings: The heading of each column.
    ///   - widths: The least width of each column except the last.
    ///   - output: The output for the table.
    init(_ headings: [String], widths: [Int], for output: Output) {
        self.widths = widths
        self.headings = output.isTerminal ? headings : nil
        isColoured = output.showsColour
        lineWidth = output.terminalWidth
    }

    /// The number of rows that have not been flushed.
    var count: Int { rows.count }

    /// Adds a cell to the row that ``endRow(isWhole:_:)`` ends.
    ///
    /// - Parameters:
    ///   - cell: The text.
    ///   - colour: The colour of the text, if the output shows colours.
    ///   - limit: The number of columns to which the text is cut.
    ///   - widest: The greatest width that the cell can give to its column.
    mutating func add(_ cell: String, in colour: Colour? = nil, cutTo limit: Int = .max, widest: Int = .max) {
        if let headings {
            self.headings = nil
            for heading in headings { add(heading) }
            endRow()
        }
        var columns = 0
        text.append(in: isColoured ? colour : nil) { columns = $0.append(printable: cell, cutTo: limit) }
        cells.append((columns, min(columns, widest), text.bytes.count))
    }

    /// Ends a row, and widens the columns to fit its cells.
    ///
    /// - Parameters:
    ///   - isWhole: Whether the row is never cut, such as an error, which ends with advice. Its last cell is
    ///     wrapped between words: in its column if each word fits, and otherwise on lines of its own.
    ///   - lines: Writes the lines below the row.
    mutating func endRow(isWhole: Bool = false, _ lines: (inout ByteBuffer) -> Void = { _ in }) {
        for (column, cell) in cells[(rows.last?.cells ?? 0)..<cells.count - 1].enumerated() {
            widths[column] = max(widths[column], cell.width)
        }
        lines(&text)
        rows.append((cells.count, text.bytes.count, isWhole))
    }

    /// The least width in which a last cell is wrapped in its own column.
    private static let narrowestCell = 24
    /// The indentation of a last cell on lines of its own.
    private static let margin = 6

    /// Writes the rows, and removes them.
    mutating func flush(to buffer: inout ByteBuffer) {
        var line = ByteBuffer()
        var (cell, start) = (0, 0)
        for row in rows {
            var (indentation, gap) = (0, 0)
            for column in cell..<row.cells - 1 {
                line.append(spaces: gap)
                line.append(bytes: text.bytes[start..<cells[column].end])
                start = cells[column].end
                let width = max(widths[column - cell], cells[column].columns) + 2
                gap = width - cells[column].columns
                indentation += width
            }
            let last = cells[row.cells - 1]
            let content = text.bytes[start..<last.end]
            // A row that is never cut is wrapped; each other row is cut.
            let wrapping =
                row.isWhole ? lineWidth.flatMap { indentation + last.columns > $0 ? $0 : nil } : nil
            let words = wrapping == nil ? "" : String(decoding: content, as: UTF8.self)
            let widestWord = words.split(separator: " ").map { String($0).columns }.max() ?? 0
            if let wrapping, wrapping - indentation < max(Self.narrowestCell, widestWord) {
                buffer.append(line, cutTo: wrapping)
                buffer.append("\n")
                line.removeAll()
                (indentation, gap) = (Self.margin, Self.margin)
            }
            line.append(spaces: gap)
            if let wrapping {
                line.append(words: words, from: indentation, wrappedAt: wrapping)
            } else {
                line.append(bytes: content)
            }
            if let lineWidth, !row.isWhole {
                buffer.append(line, cutTo: lineWidth)
            } else {
                buffer.append(bytes: line.bytes)
            }
            buffer.append("\n")
            buffer.append(bytes: text.bytes[last.end..<row.end])
            start = row.end
            cell = row.cells
            line.removeAll()
        }
        text.removeAll()
        cells.removeAll(keepingCapacity: true)
        rows.removeAll(keepingCapacity: true)
    }
}

/// The colours of single words on a terminal; the terminal's palette defines them.
///
/// Each is legible on light and on dark backgrounds; yellow is not, and is not used.
enum Colour: String {
    case green = "\u{1B}[32m"
    case magenta = "\u{1B}[35m"
    case red = "\u{1B}[31m"
}

extension ByteBuffer {
    /// Appends the text that the body appends, in a colour or in none.
    mutating func append(in colour: Colour?, _ body: (inout ByteBuffer) -> Void) {
        if let colour { append(colour.rawValue) }
        body(&self)
        if colour != nil { append("\u{1B}[0m") }
    }

    /// Appends text for people, cut to a number of columns.
    ///
    /// - Returns: The number of columns of the appended text.
    fileprivate mutating func append(printable text: String, cutTo limit: Int) -> Int {
        // A character has at least as many bytes as columns.
        guard text.utf8.count > limit else { return append(printable: text) }
        var whole = ByteBuffer()
        whole.append(printable: text)
        return append(whole, cutTo: limit)
    }

    /// Appends a line, cut to a number of columns.
    ///
    /// Colours have no width, and colours after the cut are kept.
    ///
    /// - Returns: The number of columns of the appended text.
    @discardableResult
    mutating func append(_ line: ByteBuffer, cutTo limit: Int) -> Int {
        let text = String(decoding: line.bytes, as: UTF8.self)
        let width = text.columns
        guard width > limit else {
            append(bytes: line.bytes)
            return width
        }
        var (column, isInColour, isCut) = (0, false, false)
        for scalar in text.unicodeScalars {
            if scalar == "\u{1B}" { isInColour = true }
            if isInColour {
                append(String(scalar))
                isInColour = scalar != "m"
            } else if !isCut, column + scalar.columns < limit {
                append(String(scalar))
                column += scalar.columns
            } else if !isCut {
                append("…")
                column += 1
                isCut = true
            }
        }
        return column
    }
}

extension ByteBuffer {
    /// Appends a line with a label, and on a terminal wraps its text between words.
    ///
    /// - Parameters:
    ///   - label: The label.
    ///   - text: The text.
    ///   - margin: The number of spaces before the label.
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

    /// Appends text that begins in a column, and continues in that column when the width is reached.
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
