// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// How often a test repeats what it claims.
package enum Rounds {
    /// The environment variable `TEST_ROUNDS`: `all`, as `make check` sets it, or `few`, as for a sanitizer.
    private static let wish = getenv("TEST_ROUNDS").map { String(cString: $0) }

    /// Whether every round runs.
    package static let areAll = wish == "all"

    /// A number of rounds; a tenth of it in an ordinary run, and a hundredth in a short one.
    package static func of(_ all: Int) -> Int {
        switch wish {
        case "all": all
        case "few": max(1, all / 100)
        default: max(1, all / 10)
        }
    }
}
