// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import Testing

@testable import RoutingSimulation
@testable import netflags

/// The words of changes against ip(8), which takes and refuses the same.
struct ChangeWordsTests {
    /// Changes one after the other; ip(8) takes some and refuses others.
    private static let changes = [
        "rule add pref 100 goto 200", "rule add pref 101 type goto 200", "rule add goto 300 pref 102",
        "rule add pref 103 goto 50", "rule add l3mdev pref 1000", "rule add pref 105 lookup 0",
        "rule add pref 106 table unspec", "-6 rule add pref 107 lookup 0",
        "-6 rule add from 2001:db8::/32 lookup 100", "rule add from 2001:db8::/32 lookup 100",
        "-6 rule del from 2001:db8::/32", "rule add prio 116 lookup 7", "rule add pri 117 type blackhole",
        "rule add pref 109 uidrange 5", "rule add pref 110 uidrange 5-6 lookup 7",
        "rule add pref 111 sport 5",
        "rule add pref 120 table 7 suppress_ifgroup 5", "rule add pref 121 table 7 sup_group default",
        "rule add pref 123 protocol static lookup 7", "rule add", "rule add pref 141 nosuch 5",
        "rule del pref 116", "rule del l3mdev", "rule flush", "-6 rule flush",
        "route add 10.9.0.0/16 via 192.0.2.9 via 192.0.2.8", "route add 10.9.1.0/24 via 192.0.2.9 mtu 1400",
        "route add 10.9.2.0/24 via 192.0.2.9 mtu lock 1400 advmss 1300 initcwnd 10 rtt 100ms",
        "route add 10.9.3.0/24 dev w0 scope link", "route add 10.9.4.0/24 via 192.0.2.9 scope link",
        "route add 10.9.5.0/24 dev w0 scope global", "route del 10.9.5.0/24 scope link",
        "route add 10.9.6.0/24 via 192.0.2.9 proto bird", "-6 route add 2001:db8:9::/48 dev w0 pref high",
        "-family inet6 route add 2001:db8:c::/48 dev w0", "-6 -4 route add 10.9.14.0/24 dev w0",
        "route flush proto bird", "route flush root 10.9.0.0/16", "route flush", "route flush table 77",
        "route flush cache", "addr add 10.5.0.1/24 brd 10.5.0.255 dev w0 label w0:1",
        "addr add 10.5.1.1/24 dev w0 label other", "addr add 10.5.2.1/24 dev w0 noprefixroute",
        "addr add 10.5.2.1/24 dev w0", "addr replace 10.5.2.1/24 dev w0", "addr change 10.5.3.1/24 dev w0",
        "addr add 2001:db8:5::1/64 dev w0 noprefixroute nodad", "addr replace 2001:db8:5::1/64 dev w0 nodad",
        "addr add 10.5.5.1/24 dev w0 valid_lft forever preferred_lft forever", "addr flush",
        "addr flush to 10.5.0.0/16",
        "link set w0 mtu 1400", "link set dev w0 up mtu 1450 txqueuelen 100", "link set nosuch mtu 1400",
        "addr flush dev w0", "addr flush dev w0",
    ]

    @Test(.needs(.veth)) func `ip takes and refuses the same changes`()
        throws
    {
        let host = try TestNamespace.oneWire()
        try host.ip("addr add 192.0.2.3/24 dev w0")
        for change in Self.changes {
            let predicted = try host.run(
                host.entering([NetflagsProcess.path, "what-if", change, "--", "203.0.113.1"]))
            let isTaken =
                (try? host.run(host.entering(["ip"] + change.split(separator: " ").map(String.init))))
                .map { $0.status == 0 } ?? false
            #expect((predicted.status < 2) == isTaken, "\(change): \(predicted.output)")
        }
    }

    @Test(
        arguments: [
            ("-6 route add default dev eth0", "-6 route add default dev eth0"),
            ("ip -family inet6 route add default dev eth0", "-6 route add default dev eth0"),
            ("rule add prio 5 table 7", "rule add pref 5 lookup 7"),
            ("rule add pref 5 type prohibit", "rule add pref 5 prohibit"),
            ("route add 10.0.0.0/8 dev eth0 mtu 1400 advmss 1360", "route add 10.0.0.0/8 dev eth0"),
            ("addr add 10.9.0.1/24 dev eth0 label eth0:0 brd 10.9.0.255", "addr add 10.9.0.1/24 dev eth0"),
        ]) func `words that change no answer are passed over`(one: String, other: String) throws
    {
        #expect(try HostChange(one).actions == HostChange(other).actions)
    }

    @Test func `a change that begins with an option is tried, and never read as letters of options`() throws {
        let expectations = Array("203.0.113.99 unreachable\n".utf8)
        let change = "-4 route del default"
        func run(_ arguments: String..., input: [UInt8] = []) throws -> NetflagsProcess.Result {
            try NetflagsProcess.run(
                ["what-if", "--replay", Night.path, "--at", "02:02"] + arguments, input: input)
        }
        let result = try run(change, "--", "203.0.114.1")
        #expect(
            result.lines.contains("the route default via 192.0.2.1 dev eth0 was removed"), "\(result.output)")
        #expect(try run("--assert", "-", "-6 route del 2001:db8:77::/48", input: expectations).status == 2)
    }

    @Test func `a file of changes is read as ip -batch reads it`() throws {
        let lines = Array(
            "# comment\n\nroute del default # the uplink\nroute add default \\\n  via 192.0.2.1\n".utf8)
        for option in ["-batch", "--batch"] {
            let result = try NetflagsProcess.run(
                [
                    "what-if", "--replay", Night.path, option, "-", "rule add to 10.99.0.0/16 prohibit", "--",
                    "default",
                ],
                input: lines)
            #expect(result.status == 0, "\(result.errors)")
            #expect(result.output.contains("10.99.0.0/16"))
        }
        let wrong = try NetflagsProcess.run(
            ["what-if", "--replay", Night.path, "--batch", "-"], input: Array("route del default\nfoo\n".utf8)
        )
        #expect(wrong.status == 64 && wrong.errors.contains("stdin:2: "), "\(wrong.errors)")
    }
}
