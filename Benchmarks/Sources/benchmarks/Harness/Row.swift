// SPDX-License-Identifier: Apache-2.0

import Glibc

/// One result: the ratio of two sides, or a figure with its unit.
///
/// It is printed as soon as it is measured. The file that the environment variable `ROWS` names gets it as a line of
/// JSON, of which `Benchmarks/tables` makes tables.
struct Row {
    private let text: String
    /// The members of the JSON object.
    private var members: [String]

    /// What both sides of a comparison took: the medians, the median of the ratios, and their middle half.
    init(_ name: String, ours: String, theirs: String, _ rounds: [Round], goal: Goal? = nil) {
        let ratios = rounds.map { $0.ours / $0.theirs }.sorted()
        let ratio = ratios.median
        let (low, high) = (ratios[ratios.count / 4], ratios[ratios.count * 3 / 4])
        let (our, their) = (rounds.map(\.ours).median, rounds.map(\.theirs).median)
        self.init(
            name, "\(ours) \(our.short) ns, \(theirs) \(their.short) ns: \(ratio.short)",
            [
                "\"ours\":\"\(ours)\"", "\"ours_ns\":\(our)", "\"theirs\":\"\(theirs)\"",
                "\"theirs_ns\":\(their)",
                "\"ratio\":\(ratio)", "\"spread\":[\(low),\(high)]",
            ],
            ratio, goal)
    }

    /// A figure that has no rival.
    init(_ name: String, _ figure: Double, unit: String, goal: Goal? = nil) {
        self.init(
            name, "\(figure.short) \(unit)", ["\"figure\":\(figure)", "\"unit\":\"\(unit)\""], figure,
            goal)
    }

    private init(_ name: String, _ result: String, _ members: [String], _ number: Double, _ goal: Goal?) {
        self.members = ["\"name\":\"\(name)\""] + members
        if let place = Self.place {
            self.members += ["\"axis\":\"\(place.axis)\"", "\"place\":\(place.number)"]
        }
        // Goals are those of full sizes: places on an axis of growth are not judged.
        guard let goal, Self.place == nil else {
            text = "\(name): \(result)"
            return
        }
        let isReached = goal.isReached(by: number)
        self.members += [
            "\"goal\":\(goal.number)", "\"bound\":\"\(goal.bound)\"", "\"reached\":\(isReached)",
        ]
        text =
            "\(name): \(result) (\(goal.bound) \(goal.number.short) \(isReached ? "reached" : "missed"))"
    }

    /// Where the rows of this process lie on an axis of growth: the environment variable `PLACE`, such as
    /// `routes 1000`.
    private static let place: (axis: Substring, number: Int)? = {
        let words = variable("PLACE")?.split(separator: " ") ?? []
        guard words.count == 2, let number = Int(words[1]) else { return nil }
        return (words[0], number)
    }()

    func print() throws {
        Swift.print(text)
        fflush(nil)
        guard let path = variable("ROWS") else { return }
        try writeFile(path, mode: "a", "{\(members.joined(separator: ","))}\n")
    }
}

extension [Double] {
    /// The middle one, or the mean of the middle two.
    var median: Double {
        let (sorted, middle) = (sorted(), count / 2)
        return count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}

extension Double {
    /// Three decimals at most.
    fileprivate var short: String {
        self == rounded() ? "\(Int(self))" : "\((self * 1_000).rounded() / 1_000)"
    }
}
