// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
import NetlinkRecording
import Testing

@testable import netflags

struct TargetQueryTests {
    private func parsed(_ arguments: [String]) throws -> TargetQuery {
        try #require(try Netflags.parseCommand(arguments) as? Check).query()
    }

    @Test func `a host with the name of a command is evaluated after check or --`() throws {
        #expect(try parsed(["check", "doctor"]).targets == ["doctor"])
        #expect(try parsed(["check", "--", "-x"]).targets == ["-x"])
    }

    @Test func `options are part of the query`() throws {
        let query = try parsed([
            "--interface", "eth7", "--source", "2001:db8::9", "--mark", "0x1F", "--timeout", "0.25", "--json",
            "--explain", "-6", "a", "-",
        ])
        var options = ReachabilityOptions()
        options.interface = "eth7"
        options.sourceAddress = IPAddress("2001:db8::9")
        options.mark = 31
        options.families = .v6
        options.resolution.timeout = .milliseconds(250)
        #expect(
            query == TargetQuery(targets: ["a", "-"], options: options, format: .json, explains: true))
    }

    @Test(
        arguments: [
            ([], ReachabilityOptions.Families.all), (["-4"], .v4), (["-6"], .v6), (["-4", "-6"], .all),
            (["-64"], .all),
        ]
    )
    func `-4 and -6 together mean both`(flags: [String], expected: ReachabilityOptions.Families) throws {
        #expect(try parsed(flags + ["a"]).options.families == expected)
    }

    @Test func `default is the default path, and default. a host of that name`() throws {
        #expect(try TargetQuery(targets: []).target("default") == .defaultPath)
        #expect(try TargetQuery(targets: []).target("default.") == .host("default."))
        #expect(try TargetQuery(targets: []).target("0.0.0.0") == .defaultPath)
    }

    @Test(arguments: [("0", UInt32(0)), ("4294967295", .max), ("0xffffffff", .max), ("0X10", 16)])
    func `marks are 32 bits in decimal or hexadecimal`(text: String, expected: UInt32) throws {
        #expect(try SocketText.number(text, "mark", 0...UInt32.max) == expected)
    }

    @Test(arguments: ["", "-1", "+1", "4294967296", "0x", "0x1g", "0x+1", "1.5", "x"])
    func `other marks are refused`(text: String) {
        #expect(throws: (any Error).self) { try SocketText.number(text, "mark", 0...UInt32.max) }
    }

    @Test(
        arguments: [
            ("0", Duration.zero), ("0.5", .milliseconds(500)), ("31536000", .seconds(31_536_000)),
            ("500ms", .milliseconds(500)), ("1s", .seconds(1)), ("1.5m", .seconds(90)),
            ("2h", .seconds(7_200)),
        ]
    )
    func `times are seconds or a number with a unit, up to a year`(text: String, expected: Duration) throws {
        #expect(try OptionValue.duration(text) == expected)
    }

    @Test(arguments: ["", "-1", "nan", "inf", "31536001", "1e300", " 5", "s", "5x", "5 s", "8761h", "-1s"])
    func `other times are refused with one message`(text: String) {
        let error = #expect(throws: UsageError.self) { try OptionValue.duration(text) }
        #expect(error?.description.hasPrefix("\"\(text)\" is not a time: give seconds from 0") == true)
    }

    @Test(
        arguments: [
            ("64M", 64 << 20), ("64m", 64 << 20), ("64MiB", 64 << 20), ("64MB", 64_000_000),
            ("1gb", 1_000_000_000), ("1T", 1 << 40), ("2000000", 2_000_000), ("2048KiB", 2 << 20),
            ("2GIB", 2 << 30), ("1tib", 1 << 40),
        ] as [(String, UInt64)]
    )
    func `sizes are bytes or a number with a unit`(text: String, expected: UInt64) throws {
        #expect(try OptionValue.size(text) == expected)
    }

    /// An `IB` anywhere in the unit was skipped.
    @Test(arguments: ["64MIBIB", "5IBM", "2000000iB", "64MIBB", "64MiBM"])
    func `a unit is written in full once`(text: String) {
        #expect(throws: UsageError.self) { try OptionValue.size(text) }
    }

    @Test(arguments: ["", "M", "1MB", "0", "1025T", "1.5G", "64 M", "64X", "-1M", "99999999999T"])
    func `other sizes are refused with one message`(text: String) {
        let error = #expect(throws: UsageError.self) { try OptionValue.size(text) }
        #expect(error?.description.hasPrefix("\"\(text)\" is not a size: give one from 1M") == true)
    }

    @Test(arguments: [
        ("1", "0.0.0.1"), ("0", "0.0.0.0"), ("2130706433", "127.0.0.1"), ("0x7f000001", "127.0.0.1"),
    ])
    func `a number alone is no target, and the error has its address`(text: String, address: String) {
        let error = #expect(throws: ReachabilityError.self) { try TargetQuery(targets: []).target(text) }
        #expect(error?.message.contains("stands for \(address)") == true)
    }

    @Test(arguments: ["127.1", "::1", "a1", "fe80::1%1"]) func `other short texts are targets`(text: String) {
        #expect(throws: Never.self) { try TargetQuery(targets: []).target(text) }
    }

    @Test(arguments: ["lo", "dafault", "defualt", "default1"])
    func `the name of an interface and a misspelt default have a note`(name: String) {
        let note = TargetQuery.hint(on: name)
        #expect(note?.contains(name == "lo" ? "--interface lo default" : "the default path is") == true)
    }

    /// It said that the name is an interface, and the answer about the host of that name followed.
    @Test func `the note on the name of an interface says that a host is asked about`() {
        #expect(
            TargetQuery.hint(on: "lo")
                == "asking about a host named \"lo\": for the interface, write netflags --interface lo default"
        )
    }

    @Test(arguments: [
        "localhost", "default.example.com", "default.", "dafault.org", "lo.example.com", "fault",
    ])
    func `other names have no note`(name: String) {
        #expect(TargetQuery.hint(on: name) == nil)
    }

    @Test func `a name that is not valid UTF-8 is refused`() {
        #expect(throws: ReachabilityError.self) { try TargetQuery(targets: []).target("a\u{FFFD}b") }
    }
}
