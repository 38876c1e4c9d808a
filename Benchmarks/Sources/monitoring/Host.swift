// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Duel
import Glibc
import NetlinkReachability

/// The network namespace of the benchmarks, and what changes its routes.
struct Host {
    /// Where a question goes behind the gateway of the namespace.
    static let behind: UInt32 = 0x0801_0101

    private let socket: Int32

    init() throws {
        socket = try checked("open a netlink socket", baseline_open())
    }

    var descriptor: Int32 { socket }

    /// Makes a prefix unreachable, or lets it be reached again.
    ///
    /// - Returns: When the kernel had done it.
    @discardableResult
    func set(_ prefix: UInt32, length: Int32 = 24, isUnreachable: Bool) throws -> Int64 {
        try checked("change a route", baseline_change(socket, isUnreachable, prefix, length, 0))
    }
}

extension IPAddress {
    /// An IPv4 address as a number.
    init(number: UInt32) {
        self.init(
            UInt8(truncatingIfNeeded: number >> 24), UInt8(truncatingIfNeeded: number >> 16),
            UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)
        )
    }
}

/// What this process takes.
enum Process {
    /// The memory in use, in bytes.
    static var residentBytes: Int {
        var text = [UInt8](repeating: 0, count: 256)
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        let count = fread(&text, 1, text.count, file)
        let words = String(decoding: text[..<count], as: UTF8.self).split(separator: " ")
        return (Int(words[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}

extension [Double] {
    /// The number below which such a part of all lies.
    func quantile(_ part: Double) -> Double {
        let sorted = sorted()
        return sorted[Swift.min(Int(Double(sorted.count) * part), sorted.count - 1)]
    }
}

/// What went wrong, in words.
struct MonitoringFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
