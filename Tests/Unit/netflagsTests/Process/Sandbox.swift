// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

/// A thread whose system calls are refused, as below `RestrictAddressFamilies=` and `SystemCallFilter=` of systemd and
/// in some containers.
enum Sandbox {
    /// Whether this machine has seccomp, and its numbers are known here.
    static let isAvailable = socketNumber != nil && setFilter(nil)

    // The calls of poll(2), in all their forms.
    #if arch(x86_64)
        private static let socketNumber: UInt32? = 41
        static let pollNumbers: [UInt32] = [7, 271]
    #elseif arch(arm64)
        private static let socketNumber: UInt32? = 198
        static let pollNumbers: [UInt32] = [73]
    #else
        private static let socketNumber: UInt32? = nil
        static let pollNumbers: [UInt32] = []
    #endif

    /// Runs the body on a thread on which, and in the processes started from it, socket(2) refuses AF_NETLINK.
    static func refusingNetlink<Value>(
        with number: Int32,
        _ body: () throws -> Value
    ) throws -> Value {
        try OwnThread.run {
            guard setFilter(filter(number)) else {
                throw NetflagsProcess.Failure.cannot("set a filter", errno)
            }
            return try body()
        }
    }

    /// Runs the body on a thread on which some system calls fail with an errno.
    static func refusing<Value>(
        _ calls: [UInt32], with number: Int32, _ body: () throws -> Value
    ) throws -> Value {
        try OwnThread.run {
            var program = [instruction(0x20, 0)]
            for call in calls {
                program += [
                    instruction(0x15, ifNot: 1, call), instruction(0x06, 0x0005_0000 | UInt32(number)),
                ]
            }
            guard setFilter(program + [instruction(0x06, 0x7FFF_0000)]) else {
                throw NetflagsProcess.Failure.cannot("set a filter", errno)
            }
            return try body()
        }
    }

    private static func instruction(_ code: UInt64, ifNot jump: UInt64 = 0, _ value: UInt32) -> UInt64 {
        code | jump << 24 | UInt64(value) << 32
    }

    /// A program of classic BPF: `socket(AF_NETLINK, ...)` fails with the errno, and all else is allowed.
    private static func filter(_ number: Int32) -> [UInt64] {
        // BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K, BPF_RET | BPF_K, at the offsets of struct seccomp_data.
        let (load, compare, end): (UInt64, UInt64, UInt64) = (0x20, 0x15, 0x06)
        return [
            instruction(load, 0), instruction(compare, ifNot: 3, socketNumber ?? 0),
            instruction(load, 16), instruction(compare, ifNot: 1, UInt32(AF_NETLINK)),
            instruction(end, 0x0005_0000 | UInt32(number)), instruction(end, 0x7FFF_0000),
        ]
    }

    /// Sets a filter for the calling thread; without one, returns whether that would be possible.
    private static func setFilter(_ filter: [UInt64]?) -> Bool {
        // prctl() is variadic, which Swift does not import.
        typealias Control = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
        guard let symbol = dlsym(nil, "prctl") else { return false }
        let prctl = unsafeBitCast(symbol, to: Control.self)
        // PR_GET_SECCOMP, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP with SECCOMP_MODE_FILTER.
        guard let filter else { return prctl(21, 0, 0, 0, 0) >= 0 }
        guard prctl(38, 1, 0, 0, 0) == 0 else { return false }
        return filter.withUnsafeBufferPointer { program in
            // struct sock_fprog: the number of instructions, and where they are.
            let description: [UInt] = [UInt(program.count), UInt(bitPattern: program.baseAddress)]
            return description.withUnsafeBufferPointer {
                prctl(22, 2, UInt(bitPattern: $0.baseAddress), 0, 0) == 0
            }
        }
    }
}
