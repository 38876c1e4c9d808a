// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

struct CheckJSONTests {
    private static let keys = [
        "target", "flags", "rawValue", "letters", "reachable", "address", "interface", "interfaceType",
        "gateway",
        "code", "reason", "error",
    ]

    @Test func `an answer has every key of the contract, with its type`() throws {
        let result = try NetflagsProcess.run("--json", "127.0.0.1")
        let json = try #require(result.lines.first.flatMap { JSONValue($0) })
        #expect(json.keys == Self.keys)
        #expect(json["target"] == .string("127.0.0.1"))
        #expect(json["flags"] == .array(["reachable", "isLocalAddress", "isDirect"].map { .string($0) }))
        #expect(json["rawValue"] == .number(0x30002))
        #expect(json["letters"] == .string("-R -----ld"))
        #expect(json["reachable"] == .bool(true))
        #expect(json["address"] == .string("127.0.0.1"))
        #expect(json["interface"] == .string("lo"))
        #expect(json["interfaceType"] == .string("loopback"))
        #expect(json["gateway"] == .null)
        #expect(json["reason"] == .string("this host's own address"))
        #expect(json["error"] == .null)
    }

    @Test func `a query that could not be answered has the same keys, and an error`() throws {
        let result = try NetflagsProcess.run("--json", "-", input: "nosuch/8\n")
        let json = try #require(result.lines.first.flatMap { JSONValue($0) })
        #expect(result.status == 2)
        #expect(json.keys == Self.keys)
        #expect(json["flags"] == .array([]))
        #expect(json["rawValue"] == .number(0))
        #expect(json["letters"] == .string("-- -------"))
        #expect(json["reachable"] == .bool(false))
        for key in ["address", "interface", "interfaceType", "gateway"] { #expect(json[key] == .null) }
        #expect(json["reason"]?.string?.isEmpty == false)
        #expect(json["error"]?.string?.contains("nosuch/8") == true)
    }

    /// The name of the interface can be mistyped.
    @Test func `an interface that does not exist is a reason, and the status is 2`() throws {
        let result = try NetflagsProcess.run("--json", "fe80::1%nosuch")
        let json = try #require(result.lines.first.flatMap { JSONValue($0) })
        #expect(result.status == 2)
        #expect(json["reachable"] == .bool(false) && json["error"] == .null)
        #expect(json["reason"]?.string == "there is no interface \"nosuch\"")
    }

    @Test func `--format json is --json, and one object stands on each line`() throws {
        let result = try NetflagsProcess.run("--format", "json", "127.0.0.1", "fe80::1", "127.2.0.1")
        let objects = result.lines.map { JSONValue($0) }
        #expect(objects.map { $0?["target"]?.string } == ["127.0.0.1", "fe80::1", "127.2.0.1"])
        #expect(objects.map { $0?["reachable"] } == [.bool(true), .bool(false), .bool(true)])
        #expect(result.status == 1)
    }

    @Test func `--explain adds an array of what was evaluated, for answers and errors`() throws {
        let result = try NetflagsProcess.run("--json", "--explain", "127.0.0.1", "fe80::1%nosuch")
        let objects = result.lines.compactMap { JSONValue($0) }
        #expect(
            objects.map(\.keys)
                == Array(
                    repeating: Self.keys + [
                        "sourceAddress", "connect", "returns", "rules", "mtu", "explanation", "evidence",
                    ], count: 2))
        let finding = try #require(objects.first?["explanation"]?.elements.first)
        #expect(
            finding.keys == [
                "address", "letters", "rawValue", "code", "reason", "kernelError", "route", "interface",
            ]
        )
        #expect(finding["route"]?["type"] == .string("local"))
        #expect(finding["interface"]?["name"] == .string("lo"))
        #expect(objects.first?["sourceAddress"] == .string("127.0.0.1"))
        #expect(objects.last?["explanation"] == .array([]))
    }

    @Test func `explaining changes no other member`() throws {
        let targets = ["127.0.0.1", "localhost", "fe80::1", "198.51.100.7", "default"]
        let brief = try NetflagsProcess.run(["--json"] + targets).lines.compactMap { JSONValue($0) }
        let full = try NetflagsProcess.run(["--json", "--explain"] + targets).lines.compactMap {
            JSONValue($0)
        }
        #expect(brief.count == targets.count)
        for key in Self.keys { #expect(brief.map { $0[key] } == full.map { $0[key] }, "\(key)") }
    }

    @Test(.needs(.segments))
    func `an explanation says what the route puts around packets`() throws {
        let host = try TestNamespace()
        try host.wire("w0", "2001:db8::1/64")
        try host.ip("-6 route add 2001:db8:5::/48 encap seg6 mode encap segs 2001:db8::9 dev w0")
        let output = try host.run([
            NetflagsProcess.path, "--json", "--explain", "2001:db8:5::1", "2001:db8::7",
        ])
        let nexthops = output.output.split(separator: "\n").map {
            JSONValue($0)?["explanation"]?.elements[0]["route"]?["nexthops"]?.elements[0]["encapsulation"]
        }
        #expect(nexthops == [.string("seg6 to 2001:db8::9"), .null])
    }
}
