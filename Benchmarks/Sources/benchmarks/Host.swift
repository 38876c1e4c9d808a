// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Glibc
import NetlinkReachability
import RoutingModel

/// The network namespace of the benchmarks, and what changes its routes.
struct Host {
    /// Where a query goes behind the gateway of the namespace.
    static let behind: UInt32 = 0x0801_0101

    /// A socket of the C side.
    let socket: Int32

    init() throws {
        socket = try checked("open a netlink socket", baseline_open())
    }

    /// Makes a prefix unreachable, or lets it be reached again.
    func set(_ prefix: UInt32, length: Int32 = 24, isUnreachable: Bool) throws {
        try checked("change a route", baseline_change(socket, isUnreachable, prefix, length))
    }

    /// A connection from the address that the kernel selects.
    static func connection(to remote: IPAddress) throws -> NetworkConnection {
        guard let local = try NetworkReachability(address: remote).blockingReport().sourceAddress else {
            throw Failure("no source address for \(remote)")
        }
        return try NetworkConnection(
            transport: .tcp, local: local, localPort: 40_000, remote: remote, remotePort: 443)
    }

    /// The memory that this process has in use, in bytes.
    static var residentBytes: Int {
        var text = [UInt8](repeating: 0, count: 256)
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        let count = fread(&text, 1, text.count, file)
        let words = String(decoding: text[..<count], as: UTF8.self).split(separator: " ")
        return (Int(words[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
