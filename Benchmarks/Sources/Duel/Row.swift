// SPDX-License-Identifier: Apache-2.0

/// One line of a ``Table``: the ratio of two sides, or a figure with its unit.
package struct Row {
    enum Result {
        case ratio(ours: String, theirs: String, Outcome)
        case figure(Double, unit: String)
    }

    let question: String
    let result: Result
    let goal: Goal?
    /// Where the row lies on an axis of growth.
    package var place: Place?

    /// A place on an axis of growth, as 10,000 of `routes`.
    package struct Place: Sendable {
        let axis: String
        let number: Int

        package init(_ number: Int, of axis: String) {
            self.number = number
            self.axis = axis
        }
    }

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
                "\"ours\":\(Self.quoted(ours))", "\"ours_ns\":\(outcome.ours.threeDigits)",
                "\"theirs\":\(Self.quoted(theirs))", "\"theirs_ns\":\(outcome.theirs.threeDigits)",
                "\"ratio\":\(outcome.ratio.threeDigits)",
                "\"spread\":[\(outcome.spread.lowerBound.threeDigits),\(outcome.spread.upperBound.threeDigits)]",
            ]
        case .figure(let figure, let unit):
            members += ["\"figure\":\(figure.threeDigits)", "\"unit\":\(Self.quoted(unit))"]
        }
        if let place {
            members += ["\"axis\":\(Self.quoted(place.axis))", "\"place\":\(place.number)"]
        }
        if let goal, let isReached {
            members += [
                "\"goal\":\(goal.number)", "\"bound\":\"\(goal.comparison)\"", "\"reached\":\(isReached)",
            ]
        }
        return "{\(members.joined(separator: ","))}"
    }

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
    /// Rounded to three decimals: what is measured here has no more.
    fileprivate var threeDigits: Double { (self * 1_000).rounded() / 1_000 }
}
