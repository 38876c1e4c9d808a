// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import Testing

@Suite(.needs(.veth))
struct WatchEndTests {
    @Test func `--count ends it after so many lines, with status 0`() throws {
        let host = try TestNamespace.oneWire()
        let watch = try RunningNetflags(
            ["watch", "--json", "--count", "2", "192.0.2.9", "127.0.0.1"], in: host)
        #expect(try watch.row() != nil)
        #expect(try watch.row() != nil)
        #expect(try watch.row() == nil)
        #expect(try watch.end().status == 0)
    }

    @Test func `--until up ends it once all targets are reachable`() throws {
        let host = try TestNamespace.oneWire()
        let watch = try RunningNetflags(
            ["watch", "--json", "--until", "up", "192.0.2.9", "198.51.100.1"], in: host)
        for _ in 0..<2 { #expect(try watch.row() != nil) }
        try host.ip("route add default via 192.0.2.254")
        #expect(try watch.row()?["letters"]?.string == "-R -------")
        #expect(try watch.row() == nil)
        #expect(try watch.end().status == 0)
    }

    @Test func `--until down ends it once no target is reachable`() throws {
        let host = try TestNamespace.oneWire()
        let watch = try RunningNetflags(
            ["watch", "--json", "--until", "down", "192.0.2.9", "fe80::1"], in: host)
        for _ in 0..<2 { #expect(try watch.row() != nil) }
        try host.ip("link set w0 down")
        #expect(try watch.row()?["reachable"] == .bool(false))
        #expect(try watch.row() == nil)
        #expect(try watch.end().status == 0)
    }

    @Test func `--until change ends it once each target has changed since its first result`() throws {
        let host = try TestNamespace.oneWire()
        let watch = try RunningNetflags(["watch", "--json", "--until", "change", "192.0.2.9"], in: host)
        #expect(try watch.row() != nil)
        try host.ip("link set w0 down")
        #expect(try watch.row() != nil)
        #expect(try watch.row() == nil)
        #expect(try watch.end().status == 0)
    }

    @Test func `--exec runs the command at a change, not for the first result, and the run waits for it`()
        throws
    {
        let host = try TestNamespace.oneWire()
        let file = try Scratch()
        let command =
            "echo $NETFLAGS_TARGET $NETFLAGS_FLAGS $NETFLAGS_REACHABLE $NETFLAGS_REASON >> \(file.path)"
        let watch = try RunningNetflags(
            ["watch", "--json", "--until", "change", "--exec", command, "198.51.100.1"], in: host)
        #expect(try watch.row() != nil)
        try host.ip("route add default via 192.0.2.254")
        #expect(try watch.row() != nil)
        #expect(try watch.row() == nil)
        #expect(try watch.end().status == 0)
        let text = String(decoding: try readRecordingFile(file.path), as: UTF8.self)
        #expect(text == "198.51.100.1 reachable yes through gateway 192.0.2.254 on w0\n")
    }

    @Test
    func `--exec runs one command at a time, then the newest change's, and passes output on`()
        throws
    {
        let host = try TestNamespace.oneWire()
        let gate = try Scratch()
        let command = """
            echo "{\\"began\\":\\"$NETFLAGS_LETTERS\\"}"; for i in $(seq 6000); do [ -s \(gate.path) ] && break; \
            sleep 0.01; done; read line || echo "{\\"ended\\":\\"$NETFLAGS_LETTERS\\"}"
            """
        let watch = try RunningNetflags(
            ["watch", "--json", "--count", "6", "--exec", command, "198.51.100.1", "203.0.113.1"], in: host)
        for _ in 0..<2 { #expect(try watch.row()?["letters"]?.string == "-- -------") }
        try host.ip("route add 198.51.100.0/24 via 192.0.2.254")
        var rows = [try watch.row(), try watch.row()]
        // The first command waits for the gate, while two further changes come.
        try host.ip("route del 198.51.100.0/24")
        rows.append(try watch.row())
        try host.ip("route add 198.51.100.0/24 dev w0")
        rows.append(try watch.row())
        // A row is printed before its command is due. With the next row, that of this one is.
        try host.ip("route add 203.0.113.0/24 dev w0")
        rows.append(try watch.row())
        #expect(
            rows.compactMap { $0?["letters"]?.string } == [
                "-R -------", "-- -------", "-R ------d", "-R ------d",
            ])
        try host.command(["write", gate.path, "open"])
        var texts = rows.compactMap { $0?["began"]?.string }
        while let row = try watch.row() {
            texts += [row["began"], row["ended"]].compactMap { $0?.string }
        }
        let first = ["-R -------", "-R -------"]
        #expect(texts == first + ["-R ------d", "-R ------d", "-R ------d", "-R ------d"])
        #expect(try watch.end().status == 0)
    }

    /// The first signal went to a pipe that only the wait for changes read.
    @Test(arguments: [SIGINT, SIGTERM])
    func `a signal ends it while it waits for the last command of --exec`(number: Int32) throws {
        let host = try TestNamespace.oneWire()
        let command = "echo '{\"began\":true}'; exec sleep 5"
        let watch = try RunningNetflags(
            ["watch", "--json", "--until", "change", "--exec", command, "192.0.2.9"], in: host)
        #expect(try watch.row() != nil)
        try host.ip("link set w0 down")
        for _ in 0..<2 { #expect(try watch.row() != nil) }
        #expect(try watch.end(signal: number).signal == number)
    }

    /// The thread that reads signals waited for the lock of the lines, and another held it in a write.
    @Test(arguments: [SIGINT, SIGTERM])
    func `a signal ends it while the lines of many targets wait for a full pipe`(number: Int32) throws {
        let host = try TestNamespace.oneWire()
        let targets = (0..<1_000).map { "198.18.\($0 / 250).\($0 % 250)" }
        let watch = try RunningNetflags(["watch", "--json", "--explain"] + targets, in: host)
        #expect(try watch.row() != nil)
        kill(watch.process, number)
        try host.wait(until: "netflags ends") { watch.hasEnded }
        #expect(try watch.end().signal == number)
    }

    @Test
    func `a target without an answer has its error on standard error when output is not a terminal`()
        throws
    {
        let host = try TestNamespace.withUndecidedTarget()
        let watch = try RunningNetflags(
            [
                "watch", "--json", "--count", "1", "--interface", "w1", "--source", "2001:db8:1::1",
                "2001:db8::9",
            ], in: host)
        #expect(try watch.row()?["error"]?.string?.hasPrefix("undecided: ") == true)
        let result = try watch.end()
        #expect(result.errors.hasPrefix("netflags: 2001:db8::9: undecided: "))
    }

    @Test func `wait --until down returns once no target is reachable, and --verbose prints each change`()
        throws
    {
        let host = try TestNamespace.oneWire()
        let wait = try RunningNetflags(
            ["wait", "--until", "down", "--verbose", "--json", "192.0.2.9", "fe80::1"], in: host)
        try host.wait(until: "netflags waits") { wait.threadCount > 1 }
        try host.ip("link set w0 down")
        let row = try #require(try wait.row())
        #expect(row["reached"] == .bool(true))
        #expect(row["until"] == .string("down"))
        let result = try wait.end()
        #expect(result.status == 0)
        #expect(result.errors.contains("netflags: fe80::1 is not reachable: "))
    }

    @Test func `wait --timeout 0 for an interface that does not exist is over, and the reason is printed`()
        throws
    {
        let host = try TestNamespace.oneWire()
        let wait = try RunningNetflags(
            ["wait", "--timeout", "0", "--interface", "w7", "192.0.2.9"], in: host)
        let result = try wait.end()
        #expect(result.status == 1)
        #expect(result.errors.hasPrefix("netflags: 192.0.2.9 is not reachable: there is no interface"))
    }

    /// The line that --verbose had printed came again at the end.
    @Test(arguments: [["192.0.2.9"], ["192.0.2.9", "198.51.100.1"]])
    func `wait --verbose prints why a target is not reachable once`(targets: [String]) throws {
        let host = try TestNamespace.oneWire()
        for time in ["0", "0.3"] {
            let wait = try RunningNetflags(
                ["wait", "--timeout", time, "--verbose", "--interface", "w7"] + targets, in: host)
            let result = try wait.end()
            #expect(result.status == 1)
            let lines = result.errors.split(separator: "\n")
            #expect(lines.count == targets.count && Set(lines).count == targets.count, "\(result.errors)")
        }
    }

    @Test func `wait --until down names only the targets that are not down when the time is over`() throws {
        let host = try TestNamespace.oneWire()
        let wait = try RunningNetflags(
            ["wait", "--until", "down", "--timeout", "0.1", "192.0.2.9", "fe80::1%w7", "198.51.100.1"],
            in: host)
        let result = try wait.end()
        #expect(result.status == 1)
        #expect(
            result.errors == "netflags: 192.0.2.9 is reachable: on the link of w0, no gateway needed\n")
    }

    @Test(
        arguments: [
            ("up", ["192.0.2.9", "127.0.0.1"], 0), ("up", ["192.0.2.9", "198.51.100.1"], 1),
            ("down", ["192.0.2.9"], 1), ("down", ["198.51.100.1"], 0), ("up", ["localhost"], 0),
        ] as [(String, [String], Int32)]
    )
    func `wait --timeout 0 decides now`(goal: String, targets: [String], status: Int32) throws {
        let host = try TestNamespace.oneWire()
        let wait = try RunningNetflags(["wait", "--until", goal, "--timeout", "0"] + targets, in: host)
        let result = try wait.end()
        #expect(result.status == status)
        #expect(result.errors.isEmpty == (status == 0))
    }
}
