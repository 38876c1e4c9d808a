// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import TestNamespaces
import Testing

/// Announcements that are lost, and such that nobody should believe.
@Suite("Lost and false announcements", .needs(.veth))
struct MonitorLossTests {
    /// Holds about nine route announcements.
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

    /// Fills the buffer with what no target rests on.
    private func flood(_ host: TestNamespace) throws {
        try host.batch((0..<200).map { "route add 10.9.\($0).0/24 dev w1" })
        try host.batch((0..<200).map { "route del 10.9.\($0).0/24 dev w1" })
    }

    @Test func `a change that is lost is found`() throws {
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

    @Test func `a removal that is read does not outlive a return that is lost`() throws {
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

    @Test func `an arrival that is read does not outlive a removal that is lost`() throws {
        let monitored = try monitored()
        try monitored.unread {
            try monitored.host.ip("route add \(Self.behind)")
            try flood(monitored.host)
            try monitored.host.ip("route del \(Self.behind)")
        }
        try monitored.expect([:])
        #expect(try monitored.counter("overruns") == 1)
    }

    @Test func `overruns one after the other end with the truth`() throws {
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

    @Test func `what another process announces is counted and dropped`() throws {
        let monitored = try monitored()
        let asked = try monitored.counter("evaluations")
        for _ in 0..<3 { try monitored.pretend() }
        try monitored.expect([:])
        #expect(try monitored.counter("spoofed") == 6)
        #expect(try monitored.counter("evaluations") == asked)
        // The same from the kernel is believed.
        try monitored.host.ip("link set lo down")
        try monitored.expect([:])
        #expect(try monitored.counter("evaluations") > asked)
    }
}
