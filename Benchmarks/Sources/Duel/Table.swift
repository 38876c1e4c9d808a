// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The printed table: one line a duel, in aligned columns, each as soon as it is over.
package enum Table {
    private static let widths = [37, 28, 11, 27, 11, 7, 13, 8, 0]

    /// Runs duels one after the other and prints what comes out.
    package static func run(_ duels: [Duel]) throws {
        printRow(["question", "ours", "median", "theirs", "median", "ratio", "middle half", "figure", ""])
        for duel in duels { printRow(duel, try duel.run()) }
    }

    /// Prints one number that has no rival, and the most that it may be.
    package static func printFigure(_ name: String, _ number: Double, figure: Double) {
        printRow([
            name, number.twoDecimals, "<= \(Int(figure))", number <= figure ? "reached" : "missed",
        ])
    }

    private static func printRow(_ duel: Duel, _ outcome: Duel.Outcome) {
        let spread = "\(outcome.spread.lowerBound.twoDecimals)-\(outcome.spread.upperBound.twoDecimals)"
        printRow([
            duel.question,
            duel.ours.name, time(outcome.ours),
            duel.theirs.name, time(outcome.theirs),
            outcome.ratio.twoDecimals, spread,
            duel.figure.map { "<= \($0)" } ?? "",
            duel.figure.map { outcome.ratio <= $0 ? "reached" : "missed" } ?? "",
        ])
    }

    private static func printRow(_ cells: [String]) {
        var line = ""
        for (cell, width) in zip(cells, widths) {
            line += cell + String(repeating: " ", count: max(width - cell.count, 1))
        }
        while line.last == " " { line.removeLast() }
        print(line)
        fflush(nil)
    }

    /// Nanoseconds in the unit that suits them.
    private static func time(_ nanoseconds: Double) -> String {
        switch nanoseconds {
        case ..<10_000: "\(Int(nanoseconds.rounded())) ns"
        case ..<1_000_000: "\((nanoseconds / 1_000).twoDecimals) us"
        default: "\((nanoseconds / 1_000_000).twoDecimals) ms"
        }
    }
}

extension Double {
    fileprivate var twoDecimals: String {
        let hundredths = Int((self * 100).rounded())
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)"
    }
}
