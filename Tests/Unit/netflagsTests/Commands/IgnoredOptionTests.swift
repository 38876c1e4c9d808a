// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import netflags

/// Options that another one leaves without an effect.
struct IgnoredOptionTests {
    @Test(
        arguments: [
            (["-q", "--explain", "127.0.0.1"], "leave out --explain"),
            (["--quiet", "--json", "127.0.0.1"], "leave out --json"),
            (["-q", "--format", "json", "--explain", "127.0.0.1"], "leave out --format and --explain"),
            (["--format", "prometheus", "--explain", "127.0.0.1"], "leave out --explain"),
            (["--json", "--format", "prometheus", "127.0.0.1"], "exclude each other"),
            (["--at", "03:02", "default"], "give one with --replay"),
            (["sockets", "-q", "--json"], "leave out --json"),
            (["sockets", "-q", "--watch"], "leave out --watch"),
            (["path", "--watch", "--replay", Night.path], "leave out --replay"),
            (["timeline", "--json", "--explain", Night.path, "default"], "leave out --explain"),
            (
                ["timeline", "--format", "openmetrics", "--explain", Night.path, "default"],
                "leave out --explain"
            ),
            (["timeline", "--svg", "-", "--explain", Night.path, "default"], "leave out --explain"),
            (["timeline", "--changes", "report", Night.path, "default"], "leave out --changes"),
            (["timeline", "--losses", Night.path, "default"], "give --json\n"),
            (
                ["timeline", "--format", "openmetrics", "--losses", Night.path, "default"],
                "give --json instead of --format openmetrics"
            ),
            (["timeline", "--host", "a", Night.path, "default"], "give --json or"),
            (["timeline", "--cursor-file", "a", Night.path, "default"], "give --json or"),
            (["diff", "--to", "02:10", Night.path, "live"], "live is the present state"),
            (["--protocol", "icmp", "--port", "80", "127.0.0.1"], "have no ports: leave out --port\n"),
            (
                ["--replay", Night.path, "--protocol", "47", "--port", "1", "--source-port", "2", "default"],
                "the protocol 47 have no ports: leave out --port and --source-port"
            ),
            (["assert", "--always", "/dev/null"], "--always needs --replay"),
        ])
    func `an option without an effect is wrong usage`(arguments: [String], part: String) throws {
        let result = try NetflagsProcess.run(arguments)
        #expect(result.status == 64)
        #expect(result.output == "")
        #expect(result.errors.contains(part), "\(result.errors)")
    }

    /// --verbose had no effect there.
    @Test func `wait --timeout 0 --verbose prints the targets that meet the condition, too`() throws {
        let result = try NetflagsProcess.run("wait", "--timeout", "0", "--verbose", "127.0.0.1", "fe80::1")
        #expect(result.status == 1)
        #expect(
            result.errors.split(separator: "\n").map { $0.prefix { $0 != ":" } + "" }.count == 2,
            "\(result.errors)")
        #expect(result.errors.contains("127.0.0.1 is reachable: this host's own address\n"))
    }
}
