// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

@Suite(.needs(.veth))
struct WaitTests {
    @Test func `it returns with status 0 once there is a default route`() throws {
        let host = try TestNamespace.oneWire()
        let arguments = ["wait", "--json", "--timeout", "30", "192.0.2.9", "198.51.100.1", "default"]
        let wait = try RunningNetflags(arguments, in: host)
        // The monitor has its thread: the first results were not reachable.
        try host.wait(until: "netflags waits") { wait.threadCount > 1 }
        try host.ip("route add default via 192.0.2.254")
        let row = try #require(try wait.row())
        #expect(row["reached"] == .bool(true))
        #expect(row["unreachable"] == .array([]))
        #expect(row["error"] == .null)
        let result = try wait.end()
        #expect(result.status == 0)
        #expect(result.errors == "")
    }

    @Test func `it returns at once for reachable targets, and prints nothing`() throws {
        let host = try TestNamespace.oneWire()
        let wait = try RunningNetflags(["wait", "192.0.2.9", "127.0.0.1"], in: host)
        #expect(try wait.row() == nil)
        #expect(try wait.end().status == 0)
    }

    /// The shorter time usually ends before the last handler was called, hence ten runs.
    @Test(arguments: ["0.2"] + Array(repeating: "0.000001", count: 10))
    func `a target that is not reachable in time gives status 1 and is named with the reason`(seconds: String)
        throws
    {
        let host = try TestNamespace.oneWire()
        let arguments = ["wait", "--json", "--timeout", seconds, "198.51.100.1", "fe80::1%w7", "192.0.2.9"]
        let wait = try RunningNetflags(arguments, in: host)
        let row = try #require(try wait.row())
        #expect(row["reached"] == .bool(false))
        #expect(row["unreachable"] == .array([.string("198.51.100.1"), .string("fe80::1%w7")]))
        let result = try wait.end()
        #expect(result.status == 1)
        #expect(result.errors.contains("netflags: 198.51.100.1 is not reachable: no route\n"))
        #expect(!result.errors.contains("192.0.2.9"))
    }

    @Test(
        arguments: [
            (["wait"], "no target"), (["watch"], "no target"),
            (["wait", "--timeout", "-1", "a"], "--timeout"), (["watch", "https://a/b"], "netflags: "),
            (["wait", "a", "-", "-"], "once"), (["watch", "--exec", " ", "a"], "the command is empty"),
            (["watch", "--count", "0", "a"], "from 1"),
            (["wait", "--until", "change", "a"], "give one of up and down"),
        ]
    )
    func `wrong usage is an error with status 64`(arguments: [String], part: String) throws {
        let result = try NetflagsProcess.run(arguments)
        #expect(result.status == 64)
        #expect(result.output == "")
        #expect(result.errors.contains(part))
    }
}
