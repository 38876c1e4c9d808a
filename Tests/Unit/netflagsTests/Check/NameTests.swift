// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

@Suite(.needs(.veth, .mounts))
struct NameTests {
    @Test func `of two hundred names 64 are resolved side by side, and the others get an error in time`()
        throws
    {
        let host = try TestNamespace.withDeadResolver()
        let names = (0..<200).map { "name\($0).example" }
        let check = try RunningNetflags(["--json", "--timeout", "0.2"] + names, in: host, withMounts: true)
        var (late, failed) = (0, 0)
        for name in names {
            let row = try #require(try check.row())
            #expect(row["target"]?.string == name)
            if row["error"] == .null {
                late += 1
                #expect(row["reason"]?.string?.contains("was not resolved in time") == true)
            } else {
                failed += 1
                #expect(row["error"]?.string?.contains("64 earlier names are still being resolved") == true)
            }
        }
        #expect(late == 64 && failed == 136)
        #expect(check.threadCount <= 64 + 8)
        #expect(try check.end().status == 2)
    }

    /// The resolver's own limit would take 20 s for so many names.
    @Test func `wait --timeout 0 does not wait for the name server`() throws {
        let host = try TestNamespace.withDeadResolver()
        let names = (0..<200).map { "name\($0).example" }
        let command = ["timeout", "15", NetflagsProcess.path, "wait", "--timeout", "0"] + names
        let result = try host.run(command)
        #expect(result.status == 1)
        #expect(result.output.contains("name0.example was not resolved in time"))
        #expect(result.output.contains("netflags: and 195 more targets"))
    }

    @Test func `results keep the order of the targets, whether they need the resolver or not`() throws {
        let host = try TestNamespace.withDeadResolver()
        let targets = ["name.example", "192.0.2.9", "localhost", "default", "other.example", "127.0.0.1"]
        let check = try RunningNetflags(["--json", "--timeout", "0.2"] + targets, in: host, withMounts: true)
        for target in targets { #expect(try check.row()?["target"]?.string == target) }
        #expect(try check.row() == nil)
    }

    @Test func `a result is printed before a name after it is resolved`() throws {
        let host = try TestNamespace.withDeadResolver()
        let targets = ["127.0.0.1", "127.0.0.2", "name.example"]
        let check = try RunningNetflags(["--json", "--timeout", "60"] + targets, in: host, withMounts: true)
        for target in targets.prefix(2) { #expect(try check.row()?["target"]?.string == target) }
        #expect(!check.hasUnread)
        _ = try check.end(signal: 9)
    }

    @Test func `watch prints a name that is not resolved yet, and counts it as neither up nor down`() throws {
        let host = try TestNamespace.withDeadResolver()
        let watch = try RunningNetflags(
            ["watch", "--json", "--until", "down", "--exec", "false", "name.example", "192.0.2.9"],
            in: host, withMounts: true)
        var rows: [String: JSONValue] = [:]
        while rows.count < 2, let row = try watch.row() { rows[row["target"]?.string ?? ""] = row }
        let row = try #require(rows["name.example"])
        #expect(row["flags"] == .array([]))
        #expect(row["reason"] == .string("not resolved yet"))
        #expect(row["error"] == .null)
        _ = try watch.end(signal: 9)
    }
}
