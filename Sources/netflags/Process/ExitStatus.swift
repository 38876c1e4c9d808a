// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The exit status of a command, from best to worst.
enum ExitStatus: Int32 {
    /// Every target is reachable, or the command did what was asked.
    case success = 0
    /// At least one target is not reachable.
    case unreachable = 1
    /// At least one target could not be evaluated.
    case undetermined = 2
    /// The command line is wrong (EX_USAGE of `sysexits.h`).
    case usage = 64

    /// That of a target: whether it is reachable, `nil` where that is not known.
    init(isReachable: Bool?) {
        self = isReachable.map { $0 ? .success : .unreachable } ?? .undetermined
    }

    /// The worse of two.
    func worse(_ other: ExitStatus) -> ExitStatus {
        rawValue >= other.rawValue ? self : other
    }

    /// Ends the process.
    func exit() -> Never {
        Glibc.exit(rawValue)
    }
}
