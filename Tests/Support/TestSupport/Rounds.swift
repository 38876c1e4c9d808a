// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// How often a test repeats its check.
package enum Rounds {
    /// The environment variable `TEST_ROUNDS`: `all`, as `make check` sets it, or `few`, as for a sanitizer.
    private static let wish = getenv("TEST_ROUNDS").map { String(cString: $0) }

    /// Whether every round runs.
    package static let areAll = wish == "all"

    /// The number of rounds: all in a full run, a tenth in an ordinary run, and a hundredth in a short run.
    package static func of(_ all: Int) -> Int {
        switch wish {
        case "all": all
        case "few": max(1, all / 100)
        default: max(1, all / 10)
        }
    }
}
