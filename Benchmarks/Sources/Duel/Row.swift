// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// One line of a ``Table``: the ratio of two sides, or a figure with its unit.
package struct Row {
    enum Result {
        case ratio(ours: String, theirs: String, Outcome)
        case figure(Double, unit: String)
    }

    let question: String
    let result: Result
    let goal: Goal?

    /// What both sides of a comparison took.
    package init(_ question: String, ours: String, theirs: String, _ outcome: Outcome, goal: Goal? = nil) {
        self.question = question
        result = .ratio(ours: ours, theirs: theirs, outcome)
        self.goal = goal
    }

    /// A figure that has no rival.
    package init(_ question: String, _ figure: Double, unit: String, goal: Goal? = nil) {
        self.question = question
        result = .figure(figure, unit: unit)
        self.goal = goal
    }

    /// Whether the goal is reached; `nil` without a goal.
    var isReached: Bool? {
        switch result {
        case .ratio(_, _, let outcome): goal?.isReached(by: outcome.ratio)
        case .figure(let figure, _): goal?.isReached(by: figure)
        }
    }

    /// The row as one line of JSON, without its end.
    var json: String {
        var members = ["\"name\":\(Self.quoted(question))"]
        switch result {
        case .ratio(let ours, let theirs, let outcome):
            members += [
                "\"ours\":\(Self.quoted(ours))", "\"ours_ns\":\(outcome.ours.rounded5)",
                "\"theirs\":\(Self.quoted(theirs))", "\"theirs_ns\":\(outcome.theirs.rounded5)",
                "\"ratio\":\(outcome.ratio.rounded5)",
                "\"spread\":[\(outcome.spread.lowerBound.rounded5),\(outcome.spread.upperBound.rounded5)]",
            ]
        case .figure(let figure, let unit):
            members += ["\"figure\":\(figure.rounded5)", "\"unit\":\(Self.quoted(unit))"]
        }
        if let place = Self.place {
            members += ["\"axis\":\(Self.quoted(String(place.axis)))", "\"place\":\(place.number)"]
        }
        if let goal, let isReached {
            members += [
                "\"goal\":\(goal.number)", "\"bound\":\"\(goal.comparison)\"", "\"reached\":\(isReached)",
            ]
        }
        return "{\(members.joined(separator: ","))}"
    }

    /// Where the rows of this process lie on an axis of growth: the environment variable `PLACE`, such as
    /// `routes 1000`.
    private static let place: (axis: Substring, number: Int)? = {
        let words = getenv("PLACE").map { String(cString: $0) }?.split(separator: " ") ?? []
        guard words.count == 2, let number = Int(words[1]) else { return nil }
        return (words[0], number)
    }()

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            // No name of a row has a control character.
            case ..<" ": quoted += " "
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

extension Double {
    /// Rounded to five decimals: what is measured here has no more.
    fileprivate var rounded5: Double { (self * 100_000).rounded() / 100_000 }
}
