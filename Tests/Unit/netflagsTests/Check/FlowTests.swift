// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NamespaceTraits
import NetlinkReachability
import TestNamespaces
import Testing

@testable import netflags

@Suite(.needs(.veth))
struct FlowTests {
    /// A host whose rules prohibit one flow each, in both families.
    private func host() throws -> TestNamespace {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24", "2001:db8::1/64")
        for family in ["-4", "-6"] {
            try host.ip(
                "\(family) rule add pref 10 ipproto tcp dport 25 prohibit",
                "\(family) rule add pref 11 ipproto udp sport 68 prohibit",
                "\(family) rule add pref 12 uidrange 4242-4242 prohibit",
                "\(family) rule add pref 13 tos 0x10 prohibit"
            )
        }
        try host.ip(
            "-4 rule add pref 14 ipproto icmp prohibit", "-6 rule add pref 14 ipproto ipv6-icmp prohibit")
        return host
    }

    @Test(
        arguments: [
            ([], 0), (["--protocol", "tcp", "--port", "25"], 1), (["--protocol", "tcp", "--port", "80"], 0),
            (["--port", "25"], 0), (["--source-port", "68"], 1), (["--uid", "4242"], 1),
            (["--uid", "root"], 0),
            (["--tos", "0x10"], 1), (["--tos", "4"], 0), (["--protocol", "icmp"], 1),
        ] as [([String], Int32)]
    )
    func `the kernel's rules see the flow`(options: [String], status: Int32) throws {
        let host = try host()
        for target in ["192.0.2.9", "2001:db8::9"] {
            let check = try RunningNetflags(["--json"] + options + [target], in: host)
            let row = try #require(try check.row())
            #expect(row["reachable"] == .bool(status == 0), "\(target): \(row)")
            #expect(try check.end().status == status)
        }
    }

    @Test(
        arguments: [
            ["watch", "--count", "1", "192.0.2.9"], ["wait", "--timeout", "0", "192.0.2.9"], ["path"],
        ]
    )
    func `watch, wait and path take the options of a flow`(arguments: [String]) throws {
        let host = try host()
        try host.ip("route add default via 192.0.2.254")
        for (options, isReachable) in [(["--uid", "4242"], false), (["--uid", "root", "-4"], true)] {
            let run = try RunningNetflags(arguments + ["--json"] + options, in: host)
            let row = try #require(try run.row())
            #expect((row["reachable"] ?? row["reached"]) == .bool(isReachable), "\(row)")
            _ = try run.end()
        }
    }

    @Test(
        arguments: [
            (["--protocol", "sctp"], "not a protocol"),
            (["--protocol", "132"], "give one of them, or --replay"),
            (["--port", "0"], "from 1 to 65535"), (["--source-port", "65536"], "from 1 to 65535"),
            (["--tos", "256"], "from 0 to 255"), (["--tos", "-1"], "from 0 to 255"),
            (["--uid", "nosuch-user"], "no user"), (["--uid", "4294967295"], "from 0 to 4294967294"),
        ]
    )
    func `wrong flows are usage errors`(options: [String], part: String) throws {
        let result = try NetflagsProcess.run(options + ["127.0.0.1"])
        #expect(result.status == 64)
        #expect(result.errors.contains(part), "\(result.errors)")
    }

    @Test func `the options of a flow are part of the query`() throws {
        let arguments = [
            "--uid", "7", "--protocol", "tcp", "--port", "443", "--source-port", "9", "--tos", "8", "a",
        ]
        let check = try #require(try Netflags.parseCommand(arguments) as? Check)
        let options = try check.query().options
        #expect(options.user == 7)
        #expect(options.ipProtocol == 6)
        #expect(options.destinationPort == 443)
        #expect(options.sourcePort == 9)
        #expect(options.typeOfService == 8)
    }
}
