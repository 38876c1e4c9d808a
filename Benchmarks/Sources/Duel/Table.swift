// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// The printed table: one line a row, in aligned columns, each as soon as it is measured.
///
/// The file that the environment variable `ROWS` names gets the same rows as JSON Lines, behind those that it has.
package enum Table {
    private static let widths = [46, 28, 11, 38, 11, 7, 13, 11, 0]
    private static let hasHeading = Atomic(false)

    /// Runs duels one after the other and prints what comes out.
    package static func run(_ duels: [Duel]) throws {
        for duel in duels { try print(duel.row()) }
    }

    /// Prints a row, and reached or missed where it has a goal.
    package static func print(_ row: Row) throws {
        if !hasHeading.exchange(true, ordering: .relaxed) {
            printLine(["question", "ours", "median", "theirs", "median", "ratio", "middle half", "goal"])
        }
        printLine([row.question] + cells(row.result) + cells(of: row.goal, isReached: row.isReached))
        try append(row.json)
    }

    private static func cells(_ result: Row.Result) -> [String] {
        switch result {
        case .ratio(let ours, let theirs, let outcome):
            let spread = "\(outcome.spread.lowerBound.ratio)-\(outcome.spread.upperBound.ratio)"
            return [
                ours, time(outcome.ours), theirs, time(outcome.theirs), outcome.ratio.ratio, spread,
            ]
        case .figure(let figure, let unit):
            return ["", "\(figure.short) \(unit)", "", "", "", ""]
        }
    }

    private static func cells(of goal: Goal?, isReached: Bool?) -> [String] {
        guard let goal, let isReached else { return [] }
        return ["\(goal.comparison) \(goal.number.short)", isReached ? "reached" : "missed"]
    }

    private static func printLine(_ cells: [String]) {
        var line = ""
        var end = 0
        for (cell, width) in zip(cells, widths) {
            end += width
            line += cell
            // A cell that is too long takes from the one after it.
            line += String(repeating: " ", count: max(end - line.count, cell.isEmpty ? 0 : 2))
        }
        while line.last == " " { line.removeLast() }
        Swift.print(line)
        fflush(nil)
    }

    private static func append(_ line: String) throws {
        guard let path = getenv("ROWS") else { return }
        guard let file = fopen(path, "a") else {
            throw BaselineFailure(what: "open the file of ROWS", number: errno)
        }
        fputs("\(line)\n", file)
        guard fclose(file) == 0 else {
            throw BaselineFailure(what: "write the file of ROWS", number: errno)
        }
    }

    /// Nanoseconds in the unit that suits them.
    private static func time(_ nanoseconds: Double) -> String {
        switch nanoseconds {
        case ..<100: "\(nanoseconds.twoDecimals) ns"
        case ..<10_000: "\(Int(nanoseconds.rounded())) ns"
        case ..<1_000_000: "\((nanoseconds / 1_000).twoDecimals) us"
        default: "\((nanoseconds / 1_000_000).twoDecimals) ms"
        }
    }
}

extension Double {
    /// Two decimals, or none from 1,000 on and for a whole number.
    fileprivate var short: String {
        self >= 1_000 || self == rounded() ? "\(Int(rounded()))" : twoDecimals
    }

    fileprivate var twoDecimals: String { decimals(2) }

    /// Two decimals, or four where there would be little left.
    fileprivate var ratio: String { decimals(self < 0.1 ? 4 : 2) }

    private func decimals(_ count: Int) -> String {
        let scale = count == 2 ? 100 : 10_000
        let scaled = Int((self * Double(scale)).rounded())
        let fraction = String(scaled % scale)
        return "\(scaled / scale).\(String(repeating: "0", count: count - fraction.count))\(fraction)"
    }
}
