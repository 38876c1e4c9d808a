// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import Testing

struct DiffTests {
    private static let before = Recordings.path("01-dummy/02-up-default-routes")
    private static let after = Recordings.path("01-dummy/05-admin-down")

    @Test func `a recording does not differ from itself`() throws {
        let result = try NetflagsProcess.run("diff", Self.before, Self.before)
        #expect(result.status == 0)
        #expect(result.output.isEmpty)
        #expect(result.errors.isEmpty)
    }

    @Test func `a target has its old and new answer, and each cause a line`() throws {
        let result = try NetflagsProcess.run("diff", Self.before, Self.after, "default")
        #expect(result.status == 1)
        try #require(result.lines.count == 4, "\(result.output)")
        #expect(result.lines[0] == "default")
        #expect(result.lines[1].hasPrefix("- -R -------  yes  through gateway "))
        #expect(result.lines[2].hasPrefix("+ -- -------  no   "))
        #expect(result.lines[3].hasPrefix("  because ") && result.lines[3].hasSuffix(" was set down"))
    }

    @Test func `JSON has both answers with the keys of check, and the causes`() throws {
        let result = try NetflagsProcess.run("diff", "--json", Self.before, Self.after, "default")
        let json = try #require(result.lines.first.flatMap { JSONValue($0) })
        let check = try NetflagsProcess.run("--json", "--replay", Self.after, "default")
        let answer = try #require(check.lines.first.flatMap { JSONValue($0) })
        for key in ["flags", "rawValue", "letters", "reachable", "interface", "gateway", "reason", "error"] {
            #expect(json["new"]?[key] == answer[key], "\(key)")
        }
        #expect(json["target"] == .string("default"))
        #expect(json["family"] == .null)
        guard case .array(let causes)? = json["causes"] else { throw CancellationError() }
        #expect(causes.map { $0["kind"] } == [.string("link")])
        #expect(causes.map { $0["change"] } == [.string("changed")])
    }

    @Test(.needs(.veth)) func `the setting that passes over a route without a carrier is named`() throws {
        let host = try TestNamespace()
        for (name, address) in [("w0", "192.0.2.1/24"), ("w1", "198.51.100.1/24")] {
            try host.tunnel(name, address, kind: "tap")
        }
        try host.ip("route add default via 192.0.2.9", "route add default via 198.51.100.9 metric 50")
        try host.setCarrier("w0", isPresent: false)
        let files = ["old", "new"].map { "/tmp/netflags-setting-\($0)-\(getpid())" }
        defer { for file in files { unlink(file) } }
        for file in files {
            #expect(try host.run([NetflagsProcess.path, "record", file]).status == 0)
            try host.set("net/ipv4/conf/w0/ignore_routes_with_linkdown", "1")
        }
        let result = try NetflagsProcess.run(["diff"] + files + ["default"])
        #expect(result.output.contains("is passed over now: "), "\(result.output)")
        #expect(result.output.contains("ignore_routes_with_linkdown was set"))
    }

    private static func causes(_ from: String, _ to: String, _ targets: String...) throws -> [String] {
        let moments = ["--from", from, "--to", to, Night.path, Night.path]
        let result = try NetflagsProcess.run(["diff"] + moments + targets)
        #expect(result.status == 1 && result.errors.isEmpty, "\(result.errors)")
        return result.lines.filter { $0.hasPrefix("  because ") }.map { String($0.dropFirst(10)) }
    }

    @Test func `between two moments of a recording each change has who asked for it`() throws {
        let route = "the route default via 192.0.2.1 dev eth0"
        #expect(
            try Self.causes("02:15", "02:20", "198.51.100.20") == [
                "\(route) was removed on request (port 1262)"
            ])
        #expect(
            try Self.causes("02:20", "02:25", "198.51.100.20") == [
                "\(route) was added on request (port 1426)"
            ])
        #expect(
            try Self.causes("02:30", "02:40", "10.8.3.4") == [
                "the address 203.0.113.7/24 on eth1 was removed as its lifetime ended"
            ])
        let page = try Night.document("flight-recorder.md")
        let printed = try NetflagsProcess.run([
            "diff", "--from", "02:15", "--to", "02:20", Night.path, Night.path, "198.51.100.20",
        ])
        #expect(page.contains("night.rtnl 198.51.100.20\n" + printed.output))
        // The newer moment is the first one: the recording does not say who made its state of what came later.
        #expect(try Self.causes("02:25", "02:20", "198.51.100.20") == ["\(route) was removed"])
    }

    @Test func `JSON has the port of each change, and null where it has none`() throws {
        for (times, origin, port) in [
            (["02:15", "02:20"], JSONValue.string("request"), JSONValue.number(1_262)),
            (["02:25", "02:20"], .null, .null),
        ] {
            let result = try NetflagsProcess.run([
                "diff", "--json", "--from", times[0], "--to", times[1], Night.path, Night.path,
                "198.51.100.20",
            ])
            let json = try #require(result.lines.first.flatMap { JSONValue($0) })
            guard case .array(let causes)? = json["causes"] else { throw CancellationError() }
            #expect(causes.map { $0["origin"] } == [origin])
            #expect(causes.map { $0["port"] } == [port])
            #expect(causes.map { $0["requester"] } == [.null])
        }
    }

    /// The first mistyped target ended the command.
    @Test func `each target through an interface that neither state has is an error of its own`() throws {
        let result = try NetflagsProcess.run(
            "diff", Self.before, Self.after, "fe80::1%eth8", "default", "fe80::1%eth9")
        #expect(result.status == 2)
        for name in ["eth8", "eth9"] {
            let mistake = "there is no interface \"\(name)\""
            let answer = "-- -------  ?    \(mistake)\n"
            #expect(result.output.contains("fe80::1%\(name)\n- \(answer)+ \(answer)"), "\(result.output)")
            let error = "netflags: fe80::1%\(name): \(mistake): give one that `ip link` lists\n"
            #expect(result.errors.contains(error), "\(result.errors)")
        }
        #expect(result.lines.contains("default"))
    }

    @Test func `where no target is named, an interface that neither state has is one error`() throws {
        let result = try NetflagsProcess.run("diff", "--json", "--interface", "eth9", Self.before, Self.after)
        #expect(result.status == 2)
        #expect(
            result.errors
                == "netflags: default: there is no interface \"eth9\": give one that `ip link` lists\n")
        let row = try #require(result.lines.count == 1 ? JSONValue(result.lines[0]) : nil)
        for answer in ["old", "new"] { #expect(row[answer]?["code"] == .string("noInterface")) }
        #expect(row["causes"] == .null)
    }

    @Test func `an interface that one state has is a difference`() throws {
        let gone = Recordings.path("01-dummy/06-deleted")
        let result = try NetflagsProcess.run("diff", "--interface", "dummy0", Self.before, gone, "default")
        #expect(result.status == 1 && result.errors.isEmpty, "\(result.errors)")
        #expect(result.lines.contains { $0.hasPrefix("+ -- -------  no   there is no interface") })
    }

    @Test func `one of the recordings can be on standard input`() throws {
        let direct = try NetflagsProcess.run("diff", Self.before, Self.after)
        let piped = try NetflagsProcess.run(
            ["diff", "-", Self.after], input: try readRecordingFile(Self.before))
        #expect(piped.output == direct.output)
        #expect(piped.status == 1)
    }

    @Test func `a recording that does not decide is an error on its side, and the status is 2`() throws {
        let links = try Scratch(Recordings.links())
        let result = try NetflagsProcess.run("diff", Self.before, links.path, "192.0.2.1")
        #expect(result.status == 2)
        #expect(result.output.contains("+ -- -------  ?    error: undecided: "))
        #expect(!result.output.contains("because"))
    }

    @Test(
        arguments: [
            (["-", "-"], "give a file for one of the recordings"),
            (["a", "b", "example.com"], "give one that netflags order example.com prints"),
            (["a", "b", "-"], "give targets as arguments"), (["a"], "missing expected argument"),
            (["--from", "02:00", "live", "a"], "--from is for a recording"),
            (["--to", "02:00", "a", "-"], "give --to the date, too"),
        ]
    )
    func `a usage error names what to write instead`(arguments: [String], message: String) throws {
        let result = try NetflagsProcess.run(["diff"] + arguments)
        #expect(result.status == 64)
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(result.errors.contains("see netflags diff --help"))
    }

    @Test func `a file that cannot be read is an error`() throws {
        let result = try NetflagsProcess.run("diff", Self.before, "/nosuch")
        #expect(result.status == 2)
        #expect(result.errors.contains("/nosuch"))
    }
}

/// What `diff` names after single changes in a namespace.
@Suite(.needs(.veth))
struct LiveDiffTests {
    private static func network() throws -> TestNamespace {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24", "2001:db8::1/64")
        try host.wire("w1", "203.0.113.1/24", "2001:db8:1::1/64")
        try host.ip("route add default via 192.0.2.254", "-6 route add default via 2001:db8::254")
        return host
    }

    /// A change with `ip`, and the only cause that it may have, of whatever differs.
    private static let steps: [(command: String, cause: String)] = [
        ("link set w0-far down", "w0-far was set down"),
        ("route del default", "the route default via 192.0.2.254 dev w0 was removed"),
        ("route add default via 203.0.113.254", "the route default via 203.0.113.254 dev w1 was added"),
        (
            "rule add pref 9 to 198.51.100.0/24 blackhole",
            "the rule 9: from all to 198.51.100.0/24 blackhole was added"
        ),
        ("addr del 203.0.113.1/24 dev w1", "the address 203.0.113.1/24 on w1 was removed"),
        ("link set w1 down", "w1 was set down"),
        ("route add 10.7.0.0/16 dev lo", "the route 10.7.0.0/16 dev lo was added"),
        ("route replace blackhole 10.7.0.0/16", "the route 10.7.0.0/16 dev lo became blackhole 10.7.0.0/16"),
        ("link del w0", "the interface w0 was removed"),
    ]

    @Test func `before and after each step, the step's own change is named and nothing else`() throws {
        let host = try Self.network()
        let file = try Scratch()
        for step in Self.steps {
            #expect(try host.run([NetflagsProcess.path, "record", file.path]).status == 0)
            try host.ip(step.command)
            if step.command.contains("far down") { try host.wait(for: "w0", state: "DOWN") }
            let found = try host.run([NetflagsProcess.path, "diff", file.path, "live"])
            #expect(found.status == 1, "\(step.command): \(found.output)")
            let causes = found.output.split(separator: "\n").filter { $0.hasPrefix("  because ") }
            #expect(Set(causes) == ["  because \(step.cause)"], "\(step.command): \(found.output)")
            let back = try host.run([NetflagsProcess.path, "diff", "live", file.path])
            #expect(back.status == 1)
            #expect(!back.output.contains("because unknown"), "\(step.command): \(back.output)")
        }
        #expect(try host.run([NetflagsProcess.path, "record", file.path]).status == 0)
        let same = try host.run([NetflagsProcess.path, "diff", file.path, "live"])
        #expect(same.status == 0, "\(same.output)")
    }

    @Test func `the answers for live are those of check`() throws {
        let host = try Self.network()
        let file = try Scratch()
        #expect(try host.run([NetflagsProcess.path, "record", file.path]).status == 0)
        try host.ip("route del default", "-6 route del default", "rule add to 10.0.0.0/8 prohibit")
        for target in ["default", "10.1.2.3", "198.51.100.7", "2001:db8:7::1"] {
            let found = try host.run([NetflagsProcess.path, "diff", "--json", file.path, "live", target])
            let check = try host.run([NetflagsProcess.path, "check", "--json", target])
            let json = try #require(found.output.split(separator: "\n").first.flatMap { JSONValue($0) })
            let answer = try #require(check.output.split(separator: "\n").first.flatMap { JSONValue($0) })
            for key in ["rawValue", "interface", "gateway", "reason"] {
                #expect(json["new"]?[key] == answer[key], "\(target): \(key)")
            }
        }
    }
}
