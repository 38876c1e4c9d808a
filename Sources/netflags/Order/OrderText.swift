// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// The table of `netflags order`.
struct OrderText {
    private let isColoured: Bool
    /// The width to which rows are cut; `nil` for whole rows.
    private let lineWidth: Int?

    init(for output: Output) {
        isColoured = output.showsColour
        lineWidth = output.terminalWidth
    }

    /// Writes a row for each line; the columns are as wide as their content.
    func write(_ lines: [OrderLine], to buffer: inout ByteBuffer) {
        // A target that is an address needs no second column for it.
        let showsTarget =
            lines.contains { $0.target != $0.address?.description } && Set(lines.map(\.target)).count > 1
        let rows = lines.map { cells(of: $0, showsTarget: showsTarget) }
        let widths = (rows.first ?? []).indices.map { column in rows.map { $0[column].columns }.max() ?? 0 }
        for (line, row) in zip(lines, rows) {
            var text = ByteBuffer()
            for (column, cell) in row.enumerated() {
                let colour = isColoured && column == row.count - 4 ? line.colour : nil
                text.append(cell: cell, width: widths[column], in: colour)
            }
            text.append(printable: line.error.map { "error: \($0)" } ?? line.words)
            if line.error == nil {
                buffer.append(text, cutTo: lineWidth)
            } else {
                buffer.append(contentsOf: text)
            }
            buffer.append(UInt8(ascii: "\n"))
        }
    }

    /// The cells before the reason.
    private func cells(of line: OrderLine, showsTarget: Bool) -> [String] {
        let entry = line.entry
        return [entry?.rank.map(String.init) ?? "-", line.address?.description ?? "-"]
            + (showsTarget ? [line.target] : []) + [
                (entry?.flags ?? []).letters, line.verdict, entry?.interface?.name ?? "-",
                entry?.sourceAddress?.description ?? "-", entry?.rule?.description ?? "-",
            ]
    }
}

extension OrderLine {
    fileprivate var verdict: String {
        error != nil ? "?" : entry?.rank != nil ? "yes" : "no"
    }

    fileprivate var colour: Colour {
        error != nil ? .magenta : entry?.rank != nil ? .green : .red
    }

    /// Writes the line as a JSON object.
    func writeJSON(to buffer: inout ByteBuffer) {
        buffer.line { json in
            json.member("target", target)
            json.member("address", address)
            json.member("sourceAddress", entry?.sourceAddress)
            json.member("rank", entry?.rank)
            json.member("rule", entry?.rule?.description)
            json.members(entry?.flags ?? [])
            json.member("interface", entry?.interface?.name)
            json.member("interfaceType", entry?.interface?.type.rawValue)
            json.member("gateway", entry?.gateway)
            json.member("reason", words)
            json.member("error", error?.description)
        }
    }
}
