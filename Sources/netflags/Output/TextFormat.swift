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

    /// A cell of a row, without its padding.
    private struct Cell {
        var columns = 0
        /// Where it ends in ``cells``.
        var end = 0
    }

    /// A row, as bytes of ``cells``: its own cells in order, and what follows them.
    private struct Row {
        var start = 0
        var time = Cell()
        var target = Cell()
        /// The letters and the word.
        var verdict = Cell()
        var address = Cell()
        var interface = Cell()
        var gateway = Cell()
        /// The reason or the error.
        var text = Cell()
        /// Where the lines end that follow the row.
        var end = 0
        var hasReport = false
        /// Whether the text is an error, which is not cut: it ends with what to do.
        var isError = false
    }

    private let showsAddress: Bool
    private let isColoured: Bool
    private let explains: Bool
    /// The width to which rows are cut; `nil` for whole rows.
    private let lineWidth: Int?
    /// The widths of the columns of the target, the address, the interface and the gateway.
    private var widths = (target: 0, address: 1, interface: 1, gateway: 1)
    private var rows: [Row] = []
    /// The text of all rows, so that none needs memory of its own.
    private var cells = ByteBuffer()
    private var reasons = RecentTexts()

    init(_ query: TargetQuery, for output: Output) {
        showsAddress = query.targets.contains { text in
            text == "-" || (try? query.target(text))?.isName ?? false
        }
        isColoured = output.showsColour
        lineWidth = output.terminalWidth
        explains = query.explains
        for text in query.targets where text != "-" { widen(toTarget: text.columns) }
    }

    private mutating func widen(toTarget columns: Int) {
        widths.target = max(widths.target, min(columns, Self.widestTarget))
    }

    mutating func write(_ line: TargetLine, to buffer: inout ByteBuffer) {
        var row = Row()
        row.start = cells.bytes.count
        row.time = append(line.time?.description(forWidth: lineWidth) ?? "")
        row.target = append(line.target, cutTo: targetLimit(after: row.time))
        widen(toTarget: row.target.columns)
        row.verdict = appendVerdict(line)
        switch line.outcome {
        case .success(let report): write(report, to: &row)
        case .failure(let error):
            row.isError = true
            row.text = append("error: " + error.description)
        case nil: row.text = append(line.reason)
        }
        row.end = cells.bytes.count
        rows.append(row)
        if rows.count == Self.batchSize { flush(to: &buffer) }
    }

    private mutating func write(_ report: ReachabilityReport, to row: inout Row) {
        row.hasReport = true
        if showsAddress {
            // A target that is an address needs no second column for it.
            row.address = append(report.target.isName ? report.address : nil)
            widths.address = max(widths.address, row.address.columns)
        }
        row.interface = append(report.interface?.name ?? "-")
        widths.interface = max(widths.interface, row.interface.columns)
        row.gateway = append(report.gateway)
        widths.gateway = max(widths.gateway, row.gateway.columns)
        let reason = reasons.text(of: ReportedWay(report)) { $1.append(printable: $0.reason.description) }
        cells.append(contentsOf: reason)
        row.text = Cell(end: cells.bytes.count)
        if explains { TextExplanation.write(report, to: &cells) }
    }

    private mutating func append(_ text: String) -> Cell {
        Cell(columns: cells.append(printable: text), end: cells.bytes.count)
    }

    private mutating func append(_ text: String, cutTo limit: Int) -> Cell {
        // A character has at least as many bytes as columns.
        guard text.utf8.count > limit else { return append(text) }
        var whole = ByteBuffer()
        whole.append(printable: text)
        return Cell(columns: cells.append(whole, cutTo: limit), end: cells.bytes.count)
    }

    private mutating func append(_ address: IPAddress?) -> Cell {
        guard let address else { return append("-") }
        // The name of an interface can hold any character.
        guard address.zone == nil else { return append(address.description) }
        let start = cells.bytes.count
        cells.append(address.description)
        return Cell(columns: cells.bytes.count - start, end: cells.bytes.count)
    }

    mutating func flush(to buffer: inout ByteBuffer) {
        cells.bytes.withUnsafeBufferPointer { bytes in
            for row in rows { format(row, bytes, to: &buffer) }
        }
        rows.removeAll(keepingCapacity: true)
        cells.removeAll()
    }

    private func format(_ row: Row, _ bytes: UnsafeBufferPointer<UInt8>, to buffer: inout ByteBuffer) {
        if let lineWidth, !row.isError {
            var line = ByteBuffer()
            append(row, bytes, to: &line)
            buffer.append(line, cutTo: lineWidth)
        } else {
            append(row, bytes, to: &buffer)
        }
        buffer.append(UInt8(ascii: "\n"))
        buffer.append(bytes, row.text.end..<row.end, spaces: 0)
    }

    /// Appends the cells of a row.
    private func append(_ row: Row, _ bytes: UnsafeBufferPointer<UInt8>, to buffer: inout ByteBuffer) {
        if row.time.columns > 0 {
            buffer.append(bytes, row.start..<row.time.end, spaces: 2)
        }
        let targetWidth = min(widths.target, targetLimit(after: row.time))
        let padding = max(0, targetWidth - row.target.columns) + 2
        buffer.append(bytes, row.time.end..<row.target.end, spaces: padding)
        buffer.append(bytes, row.target.end..<row.verdict.end, spaces: 2)
        guard row.hasReport else {
            return buffer.append(bytes, row.verdict.end..<row.text.end, spaces: 0)
        }
        var start = row.verdict.end
        if showsAddress {
            buffer.append(
                bytes, start..<row.address.end, spaces: widths.address - row.address.columns + 2)
            start = row.address.end
        }
        let (interface, gateway) = (row.interface, row.gateway)
        buffer.append(bytes, start..<interface.end, spaces: widths.interface - interface.columns + 2)
        buffer.append(bytes, interface.end..<gateway.end, spaces: widths.gateway - gateway.columns + 2)
        buffer.append(bytes, gateway.end..<row.text.end, spaces: 0)
    }

    /// The columns that a target can have, so that the terminal also shows its word and something of the rest.
    private func targetLimit(after time: Cell) -> Int {
        guard let lineWidth else { return .max }
        // The letters, the word and two gaps, and the rest: 80 columns hold the longest IPv6 address after a time.
        let (verdict, rest) = (19, 7)
        return max(8, lineWidth - (time.columns > 0 ? time.columns + 2 : 0) - verdict - rest)
    }

    /// Appends the letters and the word.
    private mutating func appendVerdict(_ line: TargetLine) -> Cell {
        let (word, colour): (StaticString, Colour) =
            switch line.exitStatus {
            case .success: ("yes", .green)
            case .unreachable where line.flags.contains(.reachable): ("no ", .magenta)
            case .unreachable: ("no ", .red)
            case .undetermined, .usage: ("?  ", .magenta)
            }
        let letters = cells.append(printable: line.flags.letters)
        cells.append("  " as StaticString)
        cells.append(in: isColoured ? colour : nil) { $0.append(word) }
        return Cell(columns: letters + 5, end: cells.bytes.count)
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

    /// Appends some of the bytes, and a gap.
    fileprivate mutating func append(_ others: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, spaces: Int) {
        append(bytes: UnsafeBufferPointer(rebasing: others[range]))
        if spaces > 0 { append(spaces: spaces) }
    }

    /// Appends a line, cut to a number of columns.
    ///
    /// Colours take no columns, and those behind the cut are kept.
    ///
    /// - Returns: The columns of what was appended.
    @discardableResult
    mutating func append(_ line: ByteBuffer, cutTo limit: Int?) -> Int {
        let limit = limit ?? .max
        let scalars = String(decoding: line.bytes, as: UTF8.self).unicodeScalars
        let width = scalars.columns
        guard width > limit else {
            append(contentsOf: line)
            return width
        }
        var (column, isInColour, isCut) = (0, false, false)
        for scalar in scalars {
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

    /// Appends a cell padded to a width, and a gap.
    mutating func append(cell: String, width: Int, in colour: Colour? = nil) {
        var count = 0
        append(in: colour) { count = $0.append(printable: cell) }
        append(spaces: max(0, width - count) + 2)
    }
}
