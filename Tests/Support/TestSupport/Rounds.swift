// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// How often a test repeats what it claims.
package enum Rounds {
    /// Whether every round runs: the environment variable `TEST_ROUNDS` is `all`, as `make check` sets it.
    package static let areAll = getenv("TEST_ROUNDS").map { String(cString: $0) } == "all"

    /// A number of rounds, or a tenth of it in an ordinary run.
    package static func of(_ all: Int) -> Int {
        areAll ? all : max(1, all / 10)
    }
}
