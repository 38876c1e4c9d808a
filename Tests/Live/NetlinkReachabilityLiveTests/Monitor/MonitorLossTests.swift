// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import NetlinkReachability
import TestNamespaces
import Testing

/// Lost notifications, and forged ones.
@Suite(.needs(.veth))
struct MonitorLossTests {
    /// Room for about nine route notifications.
    private static let tiny = 4_096
    private static let behind = "198.51.100.0/24 via 192.0.2.254"

    private func monitored() throws -> MonitoredHost {
        let host = try TestNamespace.twoWires()
        return try MonitoredHost(
            host,
            ["198.51.100.1", "192.0.2.9", "203.0.113.9", "default", "127.0.0.1"],
            buffer: Self.tiny
        )
    }

    /// Fills the buffer with unrelated notifications.
    private func flood(_ host: TestNamespace) throws {
        try host.ip((0..<200).map { "route add 10.9.\($0).0/24 dev w1" })
        try host.ip((0..<200).map { "route del 10.9.\($0).0/24 dev w1" })
    }

    @Test func `a change whose notification is lost is detected`() throws {
        let monitored = try monitored()
        try monitored.unread {
            try flood(monitored.host)
            try monitored.host.ip("route add \(Self.behind)")
        }
        try monitored.expect(["198.51.100.1": .routed])
        #expect(try monitored.counter("overruns") == 1)
        try monitored.unread {
            try flood(monitored.host)
            try monitored.host.ip("link set w1 down")
        }
        try monitored.expect(["203.0.113.9": .none])
        #expect(try monitored.counter("overruns") == 2)
    }

    @Test func `a removal that is read does not hide a lost addition`() throws {
        let monitored = try monitored()
        try monitored.host.ip("route add \(Self.behind)")
        try monitored.expect(["198.51.100.1": .routed])
        try monitored.unread {
            try monitored.host.ip("route del \(Self.behind)")
            try flood(monitored.host)
            try monitored.host.ip("route add \(Self.behind)")
        }
        try monitored.expect([:])
        #expect(try monitored.counter("overruns") == 1)
    }

    @Test func `an addition that is read does not hide a lost removal`() throws {
        let monitored = try monitored()
        try monitored.unread {
            try monitored.host.ip("route add \(Self.behind)")
            try flood(monitored.host)
            try monitored.host.ip("route del \(Self.behind)")
        }
        try monitored.expect([:])
        #expect(try monitored.counter("overruns") == 1)
    }

    @Test func `repeated overruns end with the correct flags`() throws {
        let monitored = try monitored()
        for round in 1...4 {
            try monitored.unread {
                try flood(monitored.host)
                try monitored.host.ip(
                    "route \(round.isMultiple(of: 2) ? "del" : "add") default via 192.0.2.254")
            }
            let flags: ReachabilityFlags = round.isMultiple(of: 2) ? .none : .routed
            try monitored.expect(["198.51.100.1": flags, "default": flags])
            #expect(try monitored.counter("overruns") == round)
        }
    }

    @Test func `a notification of another process is counted and dropped`() throws {
        let monitored = try monitored()
        let asked = try monitored.counter("evaluations")
        for _ in 0..<3 { try monitored.pretend() }
        try monitored.expect([:])
        #expect(try monitored.counter("spoofed") == 6)
        #expect(try monitored.counter("evaluations") == asked)
        // The same notification of the kernel is accepted.
        try monitored.host.ip("link set lo down")
        try monitored.expect([:])
        #expect(try monitored.counter("evaluations") > asked)
    }

    /// The socket that asks is connected to the kernel, which refuses the datagram for the sender.
    @Test func `a message of another process does not reach a socket that asks`() throws {
        let monitored = try monitored()
        let errors = try monitored.pretendToAnswer()
        #expect(!errors.isEmpty)
        #expect(errors.allSatisfy { $0 == ECONNREFUSED })
        try monitored.expect([:])
    }
}
