// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import Testing

/// A recorder of a host whose servers fall silent.
@Suite(.needs(.veth))
struct RecordedEvidenceTests {
    @Test func `a recorder notes that the far side is silent, and that it answers again`() throws {
        let host = try TestNamespace()
        let server = try host.makePeer()
        try server.ip("addr add 198.51.100.1/32 dev lo", "addr add 198.51.100.2/32 dev lo")
        try host.wire("w0", "192.0.2.2/24", to: server)
        try server.address("w0-far", "192.0.2.1/24")
        try host.ip("route add default via 192.0.2.1")
        try server.command(["serve"])
        for remote in ["198.51.100.1", "198.51.100.2"] { _ = try host.command(["connect", "tcp", remote]) }
        let file = try Scratch()
        let recorder = try RunningNetflags(["record", "--evidence", "--events", file.path], in: host)
        func kinds() throws -> [String] {
            try NetflagsProcess.run("timeline", "--json", file.path, "default").lines
                .compactMap { JSONValue($0)?["kind"]?.string }
        }
        try host.wait(until: "the recording has begun") { try kinds() == ["reachable"] }
        // The gateway goes on answering, and the servers' packets to the host are dropped.
        try server.ip("route add blackhole 192.0.2.2")
        try host.command(["exchange"])
        try host.wait(until: "the silence is recorded") { try kinds().last == "silent" }
        try server.ip("route del blackhole 192.0.2.2")
        try host.wait(until: "the answer is recorded") { try kinds().last == "reachable" }
        #expect(try recorder.end(signal: SIGINT).status == 0)
        let silences = try NetflagsProcess.run("timeline", "--json", "--losses", file.path, "default").lines
            .compactMap { JSONValue($0) }
        #expect(silences.count == 1 && silences.first?["kind"]?.string == "silent")
        #expect(silences.first?["gateway"]?.string == "192.0.2.1")
        #expect(silences.first?["evidence"]?["verdict"]?.string == "silent")
    }

    /// The recorder went on stating the evidence of the first uplink, with the same verdict, which no path had.
    @Test func `after a failover, a recording has the evidence of the other uplink`() throws {
        let host = try TestNamespace()
        let server = try host.makePeer()
        for (link, network) in [("w0", "192.0.2"), ("w1", "198.18.0")] {
            try host.wire(link, "\(network).2/24", to: server)
            try host.ip("route add default via \(network).1 metric \(link == "w0" ? 1 : 2)")
        }
        let file = try Scratch()
        let recorder = try RunningNetflags(["record", "--evidence", "--events", file.path], in: host)
        func state() throws -> [String?] {
            let result = try NetflagsProcess.run("--json", "--explain", "--replay", file.path, "default")
            let row = result.lines.first.flatMap { JSONValue($0) }
            return [row?["interface"]?.string, row?["evidence"]?["verdict"]?.string]
        }
        try host.wait(until: "the recording has begun") { try state() == ["w0", "none"] }
        try host.ip("route del default via 192.0.2.1")
        try host.wait(until: "the failover is recorded") { try state() == ["w1", "none"] }
        #expect(try recorder.end(signal: SIGINT).status == 0)
    }
}
