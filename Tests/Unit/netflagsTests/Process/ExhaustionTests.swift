// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

/// Commands of a process that has too few descriptors, too little memory or no thread.
@Suite(.enabled(if: !ProcessResources.isSanitized, "sanitizers open files and reserve memory"))
struct ExhaustionTests {
    /// libdispatch ended the process with SIGILL.
    @Test(
        arguments: ["order name.example", "order localhost 127.0.0.1", "sockets", "sockets --quiet"],
        4...9
    )
    func `a process without descriptors ends with an answer or an error`(command: String, limit: Int) throws {
        let result = try NetflagsProcess.run(script: "ulimit -n \(limit); exec \"$0\" \(command)")
        #expect(result.signal == 0 && [0, 1, 2].contains(result.status), "\(result.errors)")
        if result.status == 2 { #expect(result.errors.contains("netflags: "), "\(result.errors)") }
    }

    /// The smallest address space in which the program answers about an address, in MiB.
    private static let least: Int? = (16...256).first { size in
        ShellCommand.run(
            "ulimit -v \(size * 1_024); '\(NetflagsProcess.path)' 127.0.0.1 >/dev/null 2>&1"
        ).status == 0
    }

    /// libdispatch waited for ever for memory for a thread.
    ///
    /// A thread needs 8 MiB for its stack.
    @Test(
        .enabled(if: least != nil, "no bound of the address space is met here"),
        arguments: ["sockets", "watch --count 1 127.0.0.1", "wait 127.0.0.1", "order name.example"],
        stride(from: 0, through: 32, by: 4).map { $0 }
    )
    func `a process without memory for a thread ends with an answer or an error`(command: String, more: Int)
        throws
    {
        let size = try #require(Self.least) + more
        // The time limit is for a process that hangs.
        let result = try NetflagsProcess.run(
            script: "ulimit -v \(size * 1_024); exec timeout 20 \"$0\" \(command)")
        #expect(result.signal == 0 && result.status != 124, "\(size) MiB")
    }
}
