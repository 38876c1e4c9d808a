// SPDX-License-Identifier: Apache-2.0

import Glibc

/// How a command ended, from best to worst.
enum ExitStatus: Int32 {
    /// Every target is reachable; the command did what was asked.
    case success = 0
    /// At least one target is not reachable.
    case unreachable = 1
    /// At least one question could not be answered.
    case undetermined = 2
    /// The command line makes no sense (EX_USAGE of `sysexits.h`).
    case usage = 64

    /// The worse of two.
    func worse(_ other: ExitStatus) -> ExitStatus {
        rawValue >= other.rawValue ? self : other
    }

    /// Ends the process.
    func exit() -> Never {
        Glibc.exit(rawValue)
    }
}

/// A command line that makes no sense, in words that say what to write instead.
struct UsageFault: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}

/// Tells what went wrong, on standard error.
func complain(_ message: String) {
    var line = ByteBuffer()
    line.append("netflags: ")
    line.append(printable: message)
    line.append(UInt8(ascii: "\n"))
    // Where standard error is closed, there is nobody left to tell.
    try? Output(descriptor: STDERR_FILENO).write(&line)
}
