// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import NetlinkReachability
import NetlinkRecording
import TestNamespaces
import Testing

@testable import netflags

/// `netflags order`.
struct OrderTests {
    private static let keys = [
        "target", "address", "sourceAddress", "rank", "rule", "flags", "rawValue", "letters", "reachable",
        "interface",
        "interfaceType", "gateway", "code", "reason", "error",
    ]
    private static let addresses = ["198.51.100.1", "2600::1", "127.0.0.1", "::1", "192.0.2.9"]

    private static func objects(_ result: NetflagsProcess.Result) -> [JSONValue] {
        result.lines.compactMap { JSONValue($0) }
    }

    /// A single name that has no address had a row of dashes, and no code.
    @Test func `the row of a name that has no address names it`() throws {
        let text = try NetflagsProcess.run("order", "-6", "192.0.2.9")
        #expect(text.lines.count == 1 && text.lines[0].contains("192.0.2.9"), "\(text.output)")
        let json = try NetflagsProcess.run("order", "--json", "-6", "192.0.2.9")
        #expect(Self.objects(json).first?["code"] == .string("excludedFamily"), "\(json.output)")
    }

    @Test(arguments: Recordings.networks)
    func `the program orders addresses in a recording as the library does`(file: String) throws {
        let source = try NetworkSource.recording(path: file)
        let result = try NetflagsProcess.run(["order", "--json", "--replay", file] + Self.addresses)
        let lines = Self.objects(result)
        #expect(lines.count == Self.addresses.count)
        #expect(lines.allSatisfy { $0.keys == Self.keys })
        guard
            let ordered = try? source.blockingValue(
                of: .order(of: Self.addresses.compactMap { IPAddress($0) }))
        else {
            #expect(result.status == 2)
            #expect(lines.contains { $0["error"]?.string != nil })
            return
        }
        for (line, entry) in zip(lines, ordered) {
            #expect(line["address"]?.string == entry.address.description)
            #expect(line["target"]?.string == entry.address.description)
            #expect(line["sourceAddress"]?.string == entry.sourceAddress?.description)
            #expect(line["rank"] == entry.rank.map { .number(Double($0)) } ?? .null)
            #expect(line["rule"]?.string == entry.rule?.description)
            #expect(line["rawValue"] == .number(Double(entry.flags.rawValue)))
            #expect(line["reason"]?.string == entry.reason.description)
        }
        #expect(result.status == (ordered.contains { $0.isReachable } ? 0 : 1))
    }

    @Test func `a row has the rank, the address, the source and the rule`() throws {
        // Not each host has ::1.
        let result = try NetflagsProcess.run("order", "--replay", Night.path, "127.0.0.1", "::1")
        let rows = result.lines.map { $0.split(separator: " ", maxSplits: 6).prefix(6).map(String.init) }
        #expect(
            rows == [
                ["1", "::1", "-R", "-----ld", "yes", "lo"], ["2", "127.0.0.1", "-R", "-----ld", "yes", "lo"],
            ])
        #expect(result.lines.last?.contains("  rule 6: precedence  ") == true)
        #expect(result.status == 0)
    }

    @Test func `a name has its addresses, and one without addresses has a line`() throws {
        let result = try NetflagsProcess.run("order", "--json", "nowhere.localhost.invalid", "localhost")
        let lines = Self.objects(result)
        // Not each host has ::1.
        let pairs = lines.map { [$0["target"]?.string, $0["address"]?.string] }
        #expect(
            pairs.filter { $0 != ["localhost", "::1"] } == [
                ["localhost", "127.0.0.1"], ["nowhere.localhost.invalid", nil],
            ])
        #expect(lines.last?["rank"] == .null && lines.last?["error"] == .null)
    }

    @Test func `the column of targets holds names alone`() throws {
        let rows = try NetflagsProcess.run("order", "localhost", "127.0.0.2").lines
        let cells = rows.map { $0.split(separator: " ").prefix(3).suffix(2).map(String.init) }
        // Not each host has ::1.
        #expect(
            cells.filter { $0 != ["::1", "localhost"] } == [["127.0.0.1", "localhost"], ["127.0.0.2", "-"]])
    }

    @Test func `an address of two targets is listed once, for the first`() throws {
        let result = try NetflagsProcess.run("order", "--json", "127.0.0.1", "localhost")
        let rows = Self.objects(result).filter { $0["address"]?.string == "127.0.0.1" }
        #expect(rows.map { $0["target"]?.string } == ["127.0.0.1"])
    }

    @Test func `standard input gives targets`() throws {
        let result = try NetflagsProcess.run(
            "order", "--json", "-", input: "# comment\n127.0.0.1\n\n127.0.0.2\n")
        #expect(Self.objects(result).map { $0["address"]?.string } == ["127.0.0.1", "127.0.0.2"])
    }

    @Test func `an address in a zone that does not exist comes last, and the status is 2`() throws {
        let result = try NetflagsProcess.run("order", "--json", "fe80::1%nowhere0", "127.0.0.1")
        let lines = Self.objects(result)
        #expect(lines.map { $0["target"]?.string } == ["127.0.0.1", "fe80::1%nowhere0"])
        #expect(lines.last?["reason"]?.string == "there is no interface \"nowhere0\"")
        #expect(result.errors.contains("nowhere0"))
        #expect(result.status == 2)
    }

    @Test func `addresses of other families are left out, and without any the status is 1`() throws {
        let result = try NetflagsProcess.run("order", "--json", "-4", "127.0.0.1", "::1")
        #expect(Self.objects(result).map { $0["rank"] } == [.number(1), .null])
        #expect(try NetflagsProcess.run("order", "-4", "::1").status == 1)
    }

    @Test(arguments: [
        (["order"], "no target"), (["order", "default"], "default path"), (["order", "a:80"], "a:80"),
    ])
    func `wrong usage has the status 64`(arguments: [String], part: String) throws {
        let result = try NetflagsProcess.run(arguments)
        #expect(result.status == 64)
        #expect(result.errors.contains(part))
        #expect(result.errors.contains("see netflags order --help"))
    }
}

/// `/etc/gai.conf` of a host.
struct GaiConfTests {
    @Test(
        .needs(.mounts))
    func `the order is that of gai.conf, and doctor names the lines without an effect`() throws {
        let host = try TestNamespace(.networkAndMounts)
        // Links that lead nowhere are left out.
        try host.shell("mount -t tmpfs none /mnt; cp -rL /etc/. /mnt 2>/dev/null; mount --bind /mnt /etc")
        try host.command(["write", "/etc/gai.conf", "precedence ::ffff:0:0/96 100\nlabel nonsense 1\n"])
        let list = try host.run([NetflagsProcess.path, "order", "::1", "127.0.0.1"])
        #expect(
            list.output.split(separator: "\n").map { $0.split(separator: " ")[1] } == ["127.0.0.1", "::1"])
        let doctor = try host.run([NetflagsProcess.path, "doctor"])
        #expect(
            doctor.output.contains("gai.conf       line 2: \"nonsense\" is not an IPv6 address; no effect\n"))
    }
}
