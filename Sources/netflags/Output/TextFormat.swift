// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability

/// A table for people: one row a target.
///
/// The columns are the target, the flags' letters (`WR ctiCDld`), `yes`, `no` or `?`, the address when a target
/// can be a name, the interface, the gateway, and the reason. Rows are kept until the output is flushed, so that
/// the columns are as wide as their content.
struct TextFormat: LineFormat {
    /// Rows formatted together at most.
    private static let batchSize = 256
    private static let widestTarget = 48

    private struct Row {
        let line: TargetLine
        /// The target, and of a report the address, the interface and the gateway.
        var cells: [String]
    }

    private let showsAddress: Bool
    private let isColoured: Bool
    private let explains: Bool
    /// The width to which rows are cut; `nil` for whole rows.
    private let lineWidth: Int?
    private var widths: [Int]
    private var rows: [Row] = []
    private var reasons = ReasonTexts()

    init(_ query: TargetQuery, for output: Output) {
        let targets = query.targets.filter { $0 != "-" }
        showsAddress = query.targets.contains { text in
            text == "-" || (try? query.target(text))?.isName ?? false
        }
        isColoured = output.showsColour
        lineWidth = output.terminalWidth
        explains = query.explains
        widths = [0, 1, 1, 1]
        widths[0] = targets.reduce(0) { max($0, min($1.unicodeScalars.count, Self.widestTarget)) }
    }

    mutating func write(_ line: TargetLine, to buffer: inout ByteBuffer) {
        var cells = [line.target]
        if case .success(let report) = line.result {
            // A target that is an address needs no second column for it.
            let address = showsAddress && report.target.isName ? report.address?.description : nil
            cells.append(address ?? "-")
            cells.append(report.interface?.name ?? "-")
            cells.append(report.gateway?.description ?? "-")
        }
        for (column, cell) in cells.enumerated() {
            let width = cell.columnCount
            widths[column] = max(widths[column], column == 0 ? min(width, Self.widestTarget) : width)
        }
        rows.append(Row(line: line, cells: cells))
        if rows.count == Self.batchSize { flush(to: &buffer) }
    }

    mutating func flush(to buffer: inout ByteBuffer) {
        for row in rows { format(row, to: &buffer) }
        rows.removeAll(keepingCapacity: true)
    }

    private mutating func format(_ row: Row, to buffer: inout ByteBuffer) {
        var column = 0
        if let time = row.line.time {
            column += buffer.append(cell: time.description(forWidth: lineWidth), width: 0)
        }
        column += buffer.append(cell: row.cells[0], width: widths[0])
        column += appendVerdict(row.line, to: &buffer)
        switch row.line.result {
        case .success(let report):
            if lineWidth == nil {
                append(row, report.reason, to: &buffer)
            } else {
                var rest = ByteBuffer()
                append(row, report.reason, to: &rest)
                buffer.append(rest, from: column, cutTo: lineWidth)
            }
            buffer.append(UInt8(ascii: "\n"))
            if explains { TextExplanation.write(report, to: &buffer) }
        case .failure(let error):
            buffer.append("error: " as StaticString)
            buffer.append(printable: error.description)
            buffer.append(UInt8(ascii: "\n"))
        case nil:
            buffer.append(row.line.reason)
            buffer.append(UInt8(ascii: "\n"))
        }
    }

    /// Appends what follows the word of a report.
    private mutating func append(_ row: Row, _ reason: ReachabilityReason, to buffer: inout ByteBuffer) {
        for place in (showsAddress ? 1 : 2)...3 {
            _ = buffer.append(cell: row.cells[place], width: widths[place])
        }
        buffer.append(contentsOf: reasons.text(of: reason))
    }

    /// Appends the letters and the word; returns their width.
    private func appendVerdict(_ line: TargetLine, to buffer: inout ByteBuffer) -> Int {
        let (word, colour): (StaticString, Colour) =
            switch line.exitStatus {
            case .success: ("yes", .green)
            case .unreachable where line.flags.contains(.reachable): ("no ", .magenta)
            case .unreachable: ("no ", .red)
            case .undetermined, .usage: ("?  ", .magenta)
            }
        let letters = line.flags.letters
        buffer.append(letters)
        buffer.append("  " as StaticString)
        buffer.append(in: isColoured ? colour : nil) { $0.append(word) }
        buffer.append("  " as StaticString)
        return letters.utf8.count + 7
    }
}

/// The colours of single words on a terminal; its palette defines them.
///
/// All are legible on light and on dark backgrounds: yellow is not.
enum Colour: String {
    case green = "\u{1B}[32m"
    case magenta = "\u{1B}[35m"
    case red = "\u{1B}[31m"
}

extension ByteBuffer {
    /// Appends what the body appends, in a colour or in none.
    mutating func append(in colour: Colour?, _ body: (inout ByteBuffer) -> Void) {
        if let colour { append(colour.rawValue) }
        body(&self)
        if colour != nil { append("\u{1B}[0m" as StaticString) }
    }

    /// Appends the end of a line, which begins in a column, cut to the width of the terminal.
    ///
    /// - Parameters:
    ///   - text: The end of the line.
    ///   - column: How many characters of the line come before it.
    ///   - lineWidth: The width of the terminal; `nil` for the whole text.
    mutating func append(_ text: ByteBuffer, from column: Int, cutTo lineWidth: Int?) {
        guard let lineWidth, column + text.bytes.count > lineWidth else {
            return append(contentsOf: text)
        }
        let whole = String(decoding: text.bytes, as: UTF8.self).unicodeScalars
        let room = max(lineWidth - column, 8)
        guard whole.count > room else { return append(contentsOf: text) }
        append(String(whole.prefix(room - 1)) + "…")
    }

    /// Appends a cell padded to a width, and a gap; returns the width of both in characters.
    mutating func append(cell: String, width: Int, in colour: Colour? = nil) -> Int {
        append(in: colour) { $0.append(printable: cell) }
        let count = cell.columnCount
        let padding = max(0, width - count)
        append(spaces: padding + 2)
        return count + padding + 2
    }
}

extension String {
    /// The number of characters, one column each.
    fileprivate var columnCount: Int {
        utf8.allSatisfy { $0 < 0x80 } ? utf8.count : unicodeScalars.count
    }
}
