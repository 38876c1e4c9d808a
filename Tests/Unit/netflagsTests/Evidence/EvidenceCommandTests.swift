// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

/// What the commands say of a host with a connection to a server.
@Suite(.needs(.veth))
struct EvidenceCommandTests {
    private static let keys = ["verdict", "seconds", "connections", "remotes", "tries", "gateway"]
    private let host: TestNamespace
    private let server: TestNamespace

    init() throws {
        host = try TestNamespace()
        server = try host.makePeer()
        try server.ip("addr add 198.51.100.1/32 dev lo")
        try host.wire("w0", "192.0.2.2/24", to: server)
        try server.address("w0-far", "192.0.2.1/24")
        try host.ip("route add default via 192.0.2.1")
        try server.command(["serve"])
        _ = try host.command(["connect", "tcp", "198.51.100.1"])
    }

    private func netflags(_ arguments: String...) throws -> (output: String, status: Int) {
        let result = try host.run([NetflagsProcess.path] + arguments)
        return (result.output, result.status)
    }

    /// The object on the first line.
    private func object(_ output: String) throws -> JSONValue {
        let line = try #require(output.split(separator: "\n").first, "nothing was printed")
        return try #require(JSONValue(line), "\(line)")
    }

    @Test(arguments: [["path", "--json"], ["check", "--json", "--explain", "198.51.100.1"]])
    func `path and --explain have the evidence`(command: [String]) throws {
        let output = try host.run([NetflagsProcess.path] + command).output
        let evidence = try #require(object(output)["evidence"])
        #expect(evidence.keys == Self.keys)
        #expect(evidence["verdict"]?.string == "answered")
        #expect(evidence["connections"]?.number == 1)
        #expect(try #require(evidence["seconds"]?.number) < 60)
    }

    @Test func `the evidence is a line of text`() throws {
        #expect(try netflags("path").output.contains("\nevidence     answered "))
        #expect(try netflags("--explain", "default").output.contains("\n    evidence  answered "))
    }

    @Test func `a wait for an answer ends at once, and one for silence with status 1`() throws {
        #expect(try netflags("wait", "--evidence", "--timeout", "20", "default").status == 0)
        let down = try netflags(
            "wait", "--evidence", "--until", "down", "--timeout", "0", "--json", "default")
        #expect(down.status == 1)
        // The reason is on standard error, ahead of the line.
        let outcome = try #require(down.output.split(separator: "\n").last)
        #expect(JSONValue(outcome)?["reached"] == .bool(false))
    }

    @Test func `a wait cannot say whether anything answers where nothing was asked`() throws {
        let idle = try TestNamespace.oneWire()
        let result = try idle.run([
            NetflagsProcess.path, "wait", "--evidence", "--timeout", "0", "192.0.2.9",
        ])
        #expect(result.status == 2)
    }

    @Test func `a line of watch has the evidence, and its command the verdict`() throws {
        let row = try object(try netflags("watch", "--json", "--evidence", "--count", "1", "default").output)
        #expect(row["evidence"]?["verdict"]?.string == "answered")
        let plain = try object(try netflags("watch", "--json", "--count", "1", "default").output)
        #expect(plain["evidence"] == nil)
    }

    @Test func `a connection has the age of its last answer`() throws {
        let row = try #require(try host.sockets().rows.first)
        #expect(try #require(row["answerAge"]?.number) < 60)
        #expect(row["tries"]?.number == 0)
    }

    @Test func `metrics have the age of the last answer`() throws {
        let output = try netflags("--format", "prometheus", "default").output
        #expect(output.contains("\nnetflags_answer_age_seconds{target=\"default\"} "))
        #expect(output.contains("\nnetflags_silent{target=\"default\"} 0\n"))
    }
}
