// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// How many rounds are measured, as a part of the usual number: the environment variable `EFFORT`, such as 0.1.
package enum Effort {
    private static let factor = getenv("EFFORT").flatMap { Double(String(cString: $0)) } ?? 1

    /// The rounds to measure where a full run has a number of them; at least 2.
    package static func scaled(_ rounds: Int) -> Int {
        max(2, Int(Double(rounds) * factor))
    }
}
