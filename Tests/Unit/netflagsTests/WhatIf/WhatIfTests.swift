// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

@testable import netflags

struct WhatIfTests {
    private static func whatIf(_ arguments: String...) throws -> NetflagsProcess.Result {
        try whatIf(arguments)
    }

    private static func whatIf(_ arguments: [String]) throws -> NetflagsProcess.Result {
        try NetflagsProcess.run(["what-if", "--replay", Night.path] + arguments)
    }

    /// It said that there is no such interface.
    @Test func `a time that is not recorded is the error of a change, too`() throws {
        let result = try NetflagsProcess.run(
            "what-if", "--replay", Night.path, "--at", "2020-01-01T00:00:00Z", "carrier eth0 off", "--",
            "default")
        #expect(result.status == 2)
        #expect(result.errors.contains("this time is not recorded"), "\(result.errors)")
    }

    @Test func `a number out of range has its range in the message`() throws {
        let result = try NetflagsProcess.run("what-if", "link set eth0 mtu abc")
        #expect(result.status == 64)
        #expect(result.errors.contains("is not a number from -2147483648 to 2147483647"), "\(result.errors)")
    }

    @Test func `what the kernel does by itself comes first, then the targets as diff prints them`() throws {
        let result = try Self.whatIf("link set eth0 down", "--", "default", "198.51.100.20")
        #expect(result.status == 1)
        #expect(result.lines.contains("eth0 was set down"))
        #expect(result.lines.contains("the route default via 192.0.2.1 dev eth0 was removed"))
        #expect(
            result.output.contains(
                """
                default
                - -R -------  yes  through gateway 192.0.2.1 on eth0
                + -- -------  no   no default route
                  because eth0 was set down
                198.51.100.20
                """))
    }

    @Test func `without targets they are those that diff compares`() throws {
        let result = try Self.whatIf("--json", "link set eth0 down")
        let targets = result.lines.compactMap { JSONValue($0)?["target"]?.string }
        #expect(targets.contains("default") && targets.contains("10.8.0.1"), "\(targets)")
        let json = try #require(result.lines.first.flatMap { JSONValue($0) })
        #expect(json.keys == ["recording", "target", "family", "old", "new", "error", "causes"])
    }

    @Test func `changes are made one after the other, and one that changes no answer has the status 0`()
        throws
    {
        let undone = try Self.whatIf(
            "route del default", "route add default via 192.0.2.1", "--", "default")
        #expect(undone.status == 0, "\(undone.output)")
        #expect(!undone.output.contains("- -R"))
        let none = try Self.whatIf("ip ro a blackhole 10.99.0.0/16", "--", "default")
        #expect(none.status == 0)
        #expect(none.lines == ["the route blackhole 10.99.0.0/16 was added"])
    }

    @Test func `an answer that the kernel chooses by more than the tables is marked`() throws {
        let change =
            "route replace 10.8.0.0/16 nexthop via 192.0.2.2 dev eth0 nexthop via 203.0.113.1 dev eth1"
        let choice = "the kernel chooses one of 2 nexthops by a hash of the packet"
        let arguments = ["--at", "02:02", change, "--", "10.8.3.4"]
        let text = try NetflagsProcess.run(["what-if", "--replay", Night.path] + arguments)
        #expect(text.lines.contains("  or another path: \(choice)"), "\(text.output)")
        let json = try NetflagsProcess.run(["what-if", "--json", "--replay", Night.path] + arguments)
        #expect(json.lines.first.flatMap { JSONValue($0) }?["openChoices"] == .array([.string(choice)]))
    }

    /// Each had held if the first nexthop was as expected, and failed otherwise, also where the kernel takes the other.
    @Test(arguments: [
        ("10.8.3.4 via 192.0.2.2", 2, "the kernel chooses one of 2 nexthops by a hash of the packet"),
        ("10.8.3.4 via 203.0.113.1", 2, "the kernel chooses one of 2 nexthops by a hash of the packet"),
        ("10.8.3.4 dev eth1", 2, "the kernel chooses one of 2 nexthops by a hash of the packet"),
        // No nexthop meets both.
        ("10.8.3.4 via 192.0.2.2 dev eth1", 1, "the interface is eth0"),
        ("10.8.3.4 via 192.0.2.99", 1, "the gateway is 192.0.2.2"), ("10.8.3.4 reachable", 0, ""),
    ])
    func `an expectation about one of several nexthops is not determined`(
        line: String, status: Int32, words: String
    ) throws {
        let change =
            "route replace 10.8.0.0/16 nexthop via 192.0.2.2 dev eth0 nexthop via 203.0.113.1 dev eth1"
        let result = try NetflagsProcess.run(
            ["what-if", "--assert", "-", "--replay", Night.path, "--at", "02:02", change],
            input: Array(line.utf8))
        #expect(result.status == status)
        #expect(result.output.contains(words), "\(result.output)")
    }

    @Test func `a nexthop that comes or goes is a difference, and a change elsewhere is none`() throws {
        let several =
            "route replace 10.8.0.0/16 nexthop via 192.0.2.2 dev eth0 nexthop via 203.0.113.1 dev eth1"
        let back = "route replace 10.8.0.0/16 via 192.0.2.2"
        func run(_ changes: String...) throws -> (status: Int32?, output: String) {
            let result = try NetflagsProcess.run(
                ["what-if", "--replay", Night.path, "--at", "02:02"] + changes + ["--", "10.8.3.4"])
            return (result.status, result.output)
        }
        let found = try run(several)
        #expect(found.status == 1)
        #expect(
            found.output.contains(
                "\n+ -R -------  yes  through gateway 192.0.2.2 on eth0, or by another of its 2 nexthops\n"),
            "\(found.output)")
        #expect(
            try run(several, back).output.contains("\n+ -R -------  yes  through gateway 192.0.2.2 on eth0\n")
        )
        #expect(try run("addr add 10.99.0.1/24 dev eth0").status == 0)
    }

    /// The cause had been the group of nexthops.
    @Test(.needs(.veth, .nexthops))
    func `a group of nexthops that loses a member follows from what took the member away`() throws {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        try host.wire("w1", "198.51.100.1/24")
        try host.ip(
            "nexthop add id 1 via 192.0.2.254 dev w0", "nexthop add id 2 via 198.51.100.254 dev w1",
            "nexthop add id 9 group 1/2", "route add 10.50.0.0/16 nhid 9")
        let command = [NetflagsProcess.path, "what-if", "link set w1 down", "--", "10.50.1.1"]
        let output = try host.run(host.entering(command)).output
        #expect(output.hasSuffix("\n  because w1 was set down\n"), "\(output)")
    }

    @Test(.needs(.veth))
    func `an address that is made of an unknown hardware address is marked`() throws {
        let host = try TestNamespace()
        try host.ip("link add w0 type veth peer name p0")
        let command = [NetflagsProcess.path, "what-if", "link set w0 up", "link set p0 up", "--", "default"]
        #expect(
            try host.run(host.entering(command)).output.contains("/64 on w0 (its last bits are not known)"))
    }

    @Test func `the network of an instant can be changed`() throws {
        let lost = try Self.whatIf("--at", "02:10", "carrier eth0 on", "--", "default")
        #expect(lost.status == 1)
        #expect(lost.output.contains("+ -R -------  yes"))
    }

    @Test(
        arguments: [
            ("route add default via 192.0.2.1", "File exists (errno 17)"),
            ("route add 10.9.0.0/16 via 203.0.113.99", "Network is unreachable (errno 101)"),
            ("addr add 192.0.2.7/24 dev eth0", "File exists"),
            ("addr del 192.0.2.99/24 dev eth0", "Cannot assign requested address"),
            ("route del 10.99.0.0/16", "No such process"), ("link set nosuch up", "No such device"),
            ("link set lo master eth0", "Operation not supported"), ("rule del pref 4", "No such file"),
        ])
    func `a change that the kernel would refuse is an error with its errno`(change: String, message: String)
        throws
    {
        let result = try Self.whatIf(change)
        #expect(result.status == 2)
        #expect(result.errors.contains("the kernel would refuse it: \(message)"), "\(result.errors)")
        #expect(result.output.isEmpty)
    }

    @Test(
        arguments: [
            ([], "no change"), (["tc qdisc"], "give one of address, route, rule, link, carrier"),
            (["link set eth0 name w0"], "give one of up, down, master, nomaster, carrier"),
            (["route add default foo"], "give via GATEWAY, dev NAME"),
            (["rule add frm all"], "give pref, not, from"), (["addr add 192.0.2.9/24"], "give dev NAME"),
            (["route del default", "--", "example.com"], "\"example.com\" is a name"),
            (["--assert", "/dev/null", "route del default", "--", "default"], "leave out --assert"),
        ])
    func `an unknown change is wrong usage, and the message says what is known`(
        arguments: [String], message: String
    ) throws {
        let result = try NetflagsProcess.run(["what-if", "--replay", Night.path] + arguments)
        #expect(result.status == 64)
        #expect(result.errors.contains(message), "\(result.errors)")
    }

    /// The operands that the message about a change without quotes, or about targets without the terminator, asks for.
    private static func advice(_ arguments: [String]) throws -> String? {
        let result = try whatIf(arguments)
        #expect(result.status == 64)
        let message = try #require(result.errors.split(separator: "\n").first)
        let start = "netflags: a change is one argument, and targets come after --"
        #expect(message.hasPrefix(start), "\(message)")
        let advice = message.dropFirst(start.count)
        return advice.isEmpty ? nil : String(advice.dropFirst(": behind the options write ".count))
    }

    @Test(
        arguments: [
            (["link", "set", "eth0", "down"], "'link set eth0 down' -- TARGET"),
            (["link", "set", "eth0", "down", "--", "default"], "'link set eth0 down' -- default"),
            (["link set eth0 down", "default", "192.0.2.1"], "'link set eth0 down' -- default 192.0.2.1"),
            (["default", "carrier eth0 off", "--", "::1"], "'carrier eth0 off' -- default ::1"),
        ])
    func `the message about a change without quotes has the operands as they are meant`(
        arguments: [String], expected: String
    ) throws {
        #expect(try Self.advice(arguments) == expected)
    }

    /// The targets are those of the expectations, so that the advice to write some led to the next error.
    @Test func `with expectations it asks for no targets`() throws {
        #expect(
            try Self.advice(["--assert", "/dev/null", "carrier", "lo", "off"]) == "'carrier lo off'")
    }

    @Test(arguments: [["carrier lo off", "default"], ["carrier", "lo", "off", "--", "default"]])
    func `targets without quotes around the change or the terminator exclude expectations`(
        operands: [String]
    ) throws {
        let result = try Self.whatIf(["--assert", "/dev/null"] + operands)
        #expect(result.status == 64)
        #expect(result.errors.contains("leave out --assert, or the targets"), "\(result.errors)")
    }

    /// They were put together to a change.
    @Test(
        arguments: [
            (["lo", "default"], "-- lo default"), (["default"], "-- default"),
            (["carrier", "lo", "off"], "'carrier lo off' -- TARGET"),
        ])
    func `with a file of changes the words that are no change are targets`(
        operands: [String], expected: String
    ) throws {
        #expect(try Self.advice(["--batch", "/dev/null"] + operands) == expected)
    }

    @Test(
        arguments: [
            ["carrier", "lo off"], ["it's", "x"], ["link", "set", "eth0", "dwn"],
            ["carrier lo off", "eth0"], ["carrier lo off", "carrier", "eth0", "off"],
        ])
    func `it asks for nothing where the words are neither changes nor targets`(arguments: [String]) throws {
        #expect(try Self.advice(arguments) == nil)
    }

    /// `'carrier it's off'` is no argument of a shell.
    @Test func `an apostrophe in it is one for a shell`() throws {
        #expect(try Self.advice(["carrier", "it's", "off"]) == #"'carrier it'\''s off' -- TARGET"#)
    }

    @Test func `expectations are checked after the changes`() throws {
        let lines = Array("192.0.2.1\n10.8.3.4 via 192.0.2.1\n".utf8)
        func check(_ change: String) throws -> NetflagsProcess.Result {
            try NetflagsProcess.run(
                ["what-if", "--assert", "-", "--replay", Night.path, change], input: lines)
        }
        #expect(try check("rule add to 10.99.0.0/16 prohibit").status == 0)
        let broken = try check("route replace 10.8.0.0/16 via 192.0.2.2 dev eth0")
        #expect(broken.status == 1)
        #expect(broken.lines.first == "stdin:2: 10.8.3.4 via 192.0.2.1")
        #expect(broken.lines.last?.hasPrefix("  the gateway is 192.0.2.2: ") == true)
    }

    @Test(.needs(.veth)) func `the running kernel's network is changed in mind alone`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip("route add default via 192.0.2.9", "addr add 192.0.2.3/24 dev w0")
        func run(_ change: String) throws -> String {
            let command = host.entering([
                NetflagsProcess.path, "what-if", change, "--", "default", "192.0.2.3",
            ])
            return try host.run(command).output
        }
        #expect(try run("link del w0").contains("+ -- -------  no   no default route"))
        try host.set("net/ipv4/conf/w0/promote_secondaries", "0")
        #expect(
            try run("addr del 192.0.2.1/24 dev w0").contains("the address 192.0.2.3/24 on w0 was removed"))
        try host.set("net/ipv4/conf/w0/promote_secondaries", "1")
        #expect(try !run("addr del 192.0.2.1/24 dev w0").contains("192.0.2.3/24 on w0 was removed"))
        #expect(try host.ip("route show default").contains("192.0.2.9"))
    }

    /// Only the running kernel knew them.
    @Test(.needs(.veth)) func `an interface is found by its alternative names`() throws {
        let host = try TestNamespace.oneWire()
        try host.ip(
            "route add default via 192.0.2.9", "link property add dev w0 altname uplink-with-a-long-name")
        let name = "uplink-with-a-long-name"
        let path = "/tmp/netflags-names-\(host.processIdentifier).rtnl"
        func run(_ arguments: String...) throws -> (status: Int, output: String) {
            try host.run(host.entering([NetflagsProcess.path] + arguments))
        }
        #expect(
            try run("what-if", "link set \(name) down", "--", "default").output.contains("w0 was set down"))
        try host.shell(
            """
            timeout --preserve-status 1 \(NetflagsProcess.path) record \(path) 2>/dev/null
            echo 'default dev \(name)' > \(path).txt
            """)
        defer { _ = try? host.shell("rm \(path) \(path).txt") }
        #expect(try run("--replay", path, "--interface", name, "default").status == 0)
        #expect(try run("assert", "--replay", path, "\(path).txt").status == 0)
        #expect(try run("assert", "\(path).txt").status == 0)
    }

    /// They were reachable.
    @Test(.needs(.veth), arguments: ["via 127.0.0.1 dev lo", "dev lo"])
    func `a null route through the loopback interface is one live and in what is predicted`(words: String)
        throws
    {
        let host = try TestNamespace.oneWire()
        try host.ip("route add default via 192.0.2.9")
        func run(_ arguments: String...) throws -> String {
            try host.run(host.entering([NetflagsProcess.path] + arguments)).output
        }
        let change = "route add 198.51.100.0/24 \(words)"
        #expect(try run("what-if", change, "--", "198.51.100.7").contains("+ -- -------  no"))
        try host.ip(change)
        #expect(try run("198.51.100.7").contains("-- -------  no   lo"))
    }
}
