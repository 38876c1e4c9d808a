// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import Testing

/// An interface name that the kernel accepts, of characters that terminals, JSON, Prometheus and shells interpret.
private let hostileName = "\u{1B}[7m$(id)`\"\\"

@Suite(.needs(.veth))
struct HostileNameTests {
    private func hostileHost() throws -> TestNamespace {
        let host = try TestNamespace()
        try host.wire("w0")
        for change in [["down"], ["name", hostileName]] {
            try #require(try host.run(["ip", "link", "set", "w0"] + change).status == 0)
        }
        for command in [
            ["link", "set", hostileName, "up"], ["address", "add", "192.0.2.1/24", "dev", hostileName],
        ] {
            try #require(try host.run(["ip"] + command).status == 0)
        }
        return host
    }

    private func output(
        _ arguments: [String],
        in host: TestNamespace,
        at location: SourceLocation = #_sourceLocation
    ) throws -> String {
        let result = try host.run([NetflagsProcess.path] + arguments)
        #expect(result.status == 0, sourceLocation: location)
        return result.output
    }

    @Test(arguments: [[], ["--explain"], ["path"]]) func `text has no control character of the name`(
        options: [String]
    ) throws {
        let host = try hostileHost()
        try #require(
            try host.run(["ip", "route", "add", "default", "via", "192.0.2.254"]).status == 0)
        let text = try output(options + (options == ["path"] ? [] : ["192.0.2.9", "default"]), in: host)
        #expect(text.contains("\u{FFFD}[7m$(id)`\"\\"))
        #expect(text.utf8.allSatisfy { $0 >= 0x20 || $0 == UInt8(ascii: "\n") })
    }

    @Test func `JSON has the name as it is`() throws {
        let text = try output(["--json", "--explain", "192.0.2.9"], in: try hostileHost())
        let row = try #require(JSONValue(text.split(separator: "\n")[0]))
        #expect(row["interface"]?.string == hostileName)
        #expect(row["reason"]?.string?.contains(hostileName) == true)
        #expect(text.utf8.allSatisfy { $0 >= 0x20 || $0 == UInt8(ascii: "\n") })
    }

    @Test func `a label of Prometheus ends where the name ends`() throws {
        let text = try output(["--format", "prometheus", "192.0.2.9"], in: try hostileHost())
        #expect(text.contains(#",interface="\#u{1B}[7m$(id)`\"\\",interface_type="#))
    }

    @Test func `--exec passes the name on without a shell that evaluates it, and no netlink socket`() throws {
        let host = try hostileHost()
        let file = try Scratch()
        // The namespace's netlink sockets are those of netflags; the processes of a test inherit others.
        let command = """
            printf '%s\\n' "$NETFLAGS_REASON" > \(file.path)
            sockets=$(tail -n +2 /proc/$$/net/netlink | awk '$3 > 0 { print "socket:[" $NF "]" }')
            [ "$sockets" ] || echo 'no netlink socket in the namespace' >> \(file.path)
            for link in /proc/$$/fd/*; do readlink $link; done | grep -F "$sockets" >> \(file.path)
            """
        let watch = try RunningNetflags(
            ["watch", "--json", "--until", "change", "--exec", command, "198.51.100.1"], in: host)
        #expect(try watch.row() != nil)
        try host.ip("route add default via 192.0.2.254")
        #expect(try watch.row() != nil)
        #expect(try watch.row() == nil)
        #expect(try watch.end().status == 0)
        let text = String(decoding: try readRecordingFile(file.path), as: UTF8.self)
        #expect(text == "through gateway 192.0.2.254 on \(hostileName)\n")
    }
}
