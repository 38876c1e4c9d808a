// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import netflags

/// Changes that are tried on the recordings of many hosts.
struct RecordingListTests {
    /// The recording of a host that has no eth1.
    private static let other = Night.file("../../../NetlinkRecordingTests/Recordings/policy.rtnl")

    /// Changes with which no target is reachable.
    private static let ban = "'rule add pref 7 prohibit' '-6 rule add pref 7 prohibit'"

    /// Runs a command in a directory with `hosts/a.rtnl` and `hosts/c`, which are the night as a file and as the
    /// directory of a recorder, `hosts/b.rtnl`, which is another host, and a hidden file.
    private static func run(
        _ command: String, after preparation: String = ""
    ) -> (output: String, errors: String) {
        let programs = NetflagsProcess.path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "/")
        let result = ShellCommand.run(
            """
            folder=$(mktemp -d) && cd "$folder" && mkdir -p hosts/c empty && : >hosts/.hidden
            cp '\(Night.path)' hosts/a.rtnl && cp '\(Night.path)' hosts/c/netflags-0000000001.rtnl
            cp '\(other)' hosts/b.rtnl
            \(preparation)
            PATH='\(programs)':$PATH
            \(command) 2>errors; echo "status $?"
            echo ---; cat errors
            rm -r "$folder"
            """)
        let parts = result.output.split(separator: "---\n", omittingEmptySubsequences: false)
        return (String(parts.first ?? ""), String(parts.last ?? ""))
    }

    private static func rows(_ output: String) -> [JSONValue] {
        output.split(separator: "\n").compactMap { JSONValue(String($0)) }
    }

    @Test func `a change that does not apply on one host is a row with an error, and the others follow`() {
        let (output, errors) = Self.run(
            "netflags what-if --json --replay-hosts hosts 'link set eth1 down' \(Self.ban) -- default")
        let rows = Self.rows(output)
        #expect(
            rows.map { $0["recording"]?.string } == ["hosts/a.rtnl", "hosts/b.rtnl", "hosts/c"], "\(output)")
        #expect(rows.last?["error"] == .null && rows.last?["new"]?["reachable"] == .bool(false))
        let refused = rows.count > 1 ? rows[1] : .null
        #expect(refused["error"]?.string?.contains("No such device (errno 19)") == true)
        #expect(refused["target"] == .null && refused["old"] == .null)
        #expect(output.hasSuffix("status 2\n"))
        #expect(
            errors == "netflags: 1 of 3 recordings could not be evaluated: see the errors in their rows\n")
    }

    @Test func `a mistyped interface is an error of each target of each recording`() {
        let (output, errors) = Self.run(
            "netflags what-if --json --interface eth8 --replay-hosts hosts 'link set lo down' -- default ::1")
        let rows = Self.rows(output)
        #expect(rows.count == 6, "\(output)")
        #expect(rows.allSatisfy { $0["new"]?["code"] == .string("noInterface") })
        #expect(output.hasSuffix("status 2\n"))
        for target in ["hosts/a.rtnl", "hosts/b.rtnl", "hosts/c"].flatMap({
            ["\($0): default", "\($0): ::1"]
        }) {
            let error = "netflags: \(target): there is no interface \"eth8\": give one that `ip link` lists\n"
            #expect(errors.split(separator: error, omittingEmptySubsequences: false).count == 2, "\(errors)")
        }
    }

    /// It waited for a writer.
    @Test func `a pipe in a directory of hosts is left out with a note`() {
        let (output, errors) = Self.run(
            "timeout 20 netflags what-if --json --replay-hosts hosts \(Self.ban) -- default",
            after: "mkfifo hosts/pipe")
        #expect(
            Self.rows(output).map { $0["recording"]?.string } == ["hosts/a.rtnl", "hosts/b.rtnl", "hosts/c"])
        #expect(
            errors == "netflags: hosts: pipe is not a file or a directory, and is left out\n", "\(errors)")
    }

    @Test func `each entry of a directory is the recording of a host, but a hidden one`() {
        let (output, errors) = Self.run(
            "netflags what-if --json --replay-hosts hosts/ \(Self.ban) -- default")
        #expect(
            Self.rows(output).map { $0["recording"]?.string }
                == ["hosts/a.rtnl", "hosts/b.rtnl", "hosts/c"], "\(output)")
        #expect(errors.isEmpty)
    }

    @Test func `text has a heading for each recording with a difference, and a summary`() {
        let (output, errors) = Self.run(
            "netflags what-if --replay hosts/c --replay hosts/b.rtnl --at 02:02 'link set eth1 down' -- 10.8.3.4"
        )
        let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.first == "hosts/c:")
        #expect(lines.contains("  because eth1 was set down"))
        #expect(lines.contains("hosts/b.rtnl:"))
        #expect(lines.contains { $0.hasPrefix("error: ") })
        #expect(lines.suffix(3).first == "2 recordings: 1 differ, 1 could not be evaluated", "\(output)")
        #expect(errors.isEmpty, "no progress where standard error is no terminal")
    }

    @Test func `a recording in whose answers nothing differs has no row`() {
        let (output, _) = Self.run("netflags what-if --replay-hosts hosts 'rule del pref 4' 'carrier lo on'")
        #expect(output.contains("3 recordings: 0 differ, 3 could not be evaluated\nstatus 2"))
        let (same, _) = Self.run("netflags what-if --replay-hosts hosts 'carrier lo on' -- default")
        #expect(same == "3 recordings: 0 differ, 0 could not be evaluated\nstatus 0\n")
    }

    @Test func `a single recording has the same keys, and a row for its error`() {
        let (output, errors) = Self.run("netflags what-if --json --replay hosts/b.rtnl 'link set eth1 down'")
        let row = Self.rows(output).first
        #expect(row?.keys == ["recording", "target", "family", "old", "new", "error", "causes"])
        #expect(output.hasSuffix("status 2\n") && errors.hasPrefix("netflags: 1 of 1 recordings"))
    }

    @Test func `expectations and losses have the recording too`() {
        let expectations = Self.run(
            "echo default | netflags what-if --json --assert - --replay-hosts hosts \(Self.ban)")
        let losses = Self.run(
            "netflags what-if --each --json --replay hosts/a.rtnl --replay hosts/no.rtnl default")
        #expect(
            Self.rows(expectations.output).map { $0["recording"]?.string }
                == ["hosts/a.rtnl", "hosts/b.rtnl", "hosts/c"])
        #expect(expectations.output.hasSuffix("status 1\n"))
        let rows = Self.rows(losses.output)
        #expect(rows.first?["recording"] == .string("hosts/a.rtnl"))
        #expect(rows.last?["outcome"] == .string("unknown"))
        #expect(rows.last?["description"]?.string?.contains("hosts/no.rtnl") == true)
        #expect(losses.output.hasSuffix("status 2\n"))
    }

    @Test(
        arguments: [
            ("--replay-hosts hosts/c", 64, "hosts/c is the recording of one host: give it to --replay"),
            ("--replay-hosts empty", 2, "it has no recording"), ("--replay-hosts no", 2, "No such file"),
            ("--replay - --replay -", 64, "stdin can be read only once"),
        ])
    func `a directory of one host, and one without recordings, are refused`(
        options: String, status: Int, message: String
    ) {
        let (output, errors) = Self.run("netflags what-if \(options) 'carrier lo on' </dev/null")
        #expect(output == "status \(status)\n")
        #expect(errors.contains(message), "\(errors)")
    }
}
