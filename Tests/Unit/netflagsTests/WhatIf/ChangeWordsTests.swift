// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import Testing

@testable import NetlinkRecording
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

    /// Words that were read otherwise than ip(8) reads them: numbers, addresses, scopes and sizes.
    private static let numbers = [
        "rule add not l3mdev pref 50", "-6 rule add not l3mdev pref 50", "rule add from 0/0 lookup 7 pref 53",
        "rule add from 0/0 lookup 7 pref 53", "-6 rule add from 0/0 lookup 7 pref 53",
        "rule add from ::/0 lookup 7 pref 55", "rule add from 0 pref 58 lookup 7",
        "rule add from 10.77/16 pref 60 lookup 7", "rule add from 10.77.1 pref 61 lookup 7",
        "rule add from 10.77.0.0/255.255.0.0 pref 62 lookup 7", "rule add from 10.77.0.0/33 pref 63 lookup 7",
        "rule add from 300.1 pref 63 lookup 7", "rule add from 0x0a.1/8 pref 64 lookup 7",
        "rule add tos 0x11 pref 65 lookup 7", "rule add tos 10 pref 66 lookup 7",
        "rule add tos 0x20 pref 67 lookup 7", "-6 rule add tos 0xe0 pref 68 lookup 7",
        "rule add dport 70000 pref 70 lookup 7", "rule add dport 65536 pref 71 lookup 7",
        "rule add dport 100-131172 pref 72 lookup 7", "rule add sport 5-4 pref 73 lookup 7",
        "rule add dport 0x50 pref 74 lookup 7", "rule add dport 5- pref 75 lookup 7",
        "rule add dport http pref 76 lookup 7", "rule add uidrange 5-4 pref 77 lookup 7",
        "rule add fwmark 010 pref 78 lookup 7", "rule add fwmark 1/ pref 79 lookup 7",
        "rule add pref 0x57 tab 7", "rule add pref 88 unreach", "rule add pref 4294967296 lookup 7",
        "route add 10.1.0.0/16 dev w0 scope universe", "route add 10.2.0.0/16 dev w0 scope 200",
        "route add 10.6.0.0/16 dev w0 scope 256", "route add 10.7.0.0/16 dev w0 scope nowhere",
        "addr add 10.20.0.1/24 dev w0 scope universe", "addr add 10.22.0.1/24 dev w0 scope 100",
        "addr flush dev w0 scope universe", "route flush scope universe", "addr add 10.24/24 dev w0",
        "addr add 10.26.0.1/255.255.255.0 dev w0", "addr add 10.27.0.1/255.0.255.0 dev w0",
        "addr add 10.28.0.1/0x18 dev w0", "addr add 10.30.0.1/24 brd - dev w0",
        "addr add 10.33.0.1/24 brd 10.33.0.77 dev w0", "addr add 10.36.0.1/32 brd + dev w0",
        "-6 addr add 2001:db8:20::1/64 brd + dev w0", "addr add 10.42.0.1/24 dev w0 brd - brd +",
        "route add 10.77/16 dev w0", "route add 10.78.0.0/255.255.0.0 dev w0", "route add 10.79.5/16 dev w0",
        "route add 10.80 dev w0", "route add 10.82.0.0/16 via 192.0.2.9 mtu 4294967295",
        "route add 10.83.0.0/16 via 192.0.2.9 mtu 4294967296",
        "route add 10.87/16 via 192.0.2.9 hoplimit 255",
        "route add 10.88.0.0/16 via 192.0.2.9 hoplimit 256", "route add 10.89/16 via 192.0.2.9 quickack 2",
        "route add 10.90.0.0/16 via 192.0.2.9 tos 0x11", "route add 10.92.0.0/16 via 192.0.2.9 tos 20",
        "route add 10.94.0.0/16 via 192.0.2.9 tos 0x100", "-6 route add 2001:db8:5::/48 dev w0 tos 0x10",
        "route add 10.98.0.0/16 via 192.0.2.9 metric 010", "route add 10.99.0.0/16 via 192.0.2.9 metric -1",
        "route add 10.107.0.0/16 via 192.0.2.9 rtt 5ms", "route add 10.109.0.0/16 via 192.0.2.9 rtt 5xx",
        "-6 route add 2001:db8:8::/48 dev w0 pref 1", "-6 route add 2001:db8:9::/48 dev w0 pref 2",
        "route add 10.119.0.0/16 via inet6 2001:db8::9", "route add 10.120.0.0/16 via 2001:db8::9",
        "route add 10.121.0.0/16 via 192.0.2.9 weight 5", "route add dev w0 10.122.0.0/16",
        "route add metric 5 via 192.0.2.9 to 10.123.0.0/16", "route add via 192.0.2.9",
        "route add 0/0 dev w0 metric 9", "route add any via 192.0.2.9", "route add all dev w0 metric 10",
        "route add default via 2001:db8::9 metric 12", "route add 0 dev w0 metric 14",
        "route add 10.130.0.0/16 via 192.0.2.9 met 5 tab 9", "route add 10.129.0.0/16 via 192.0.2.9/32",
        "-6 route flush via 192.0.2.9", "route flush via 2001:db8::9", "route flush via 10.0/16",
        "-6 route flush 10.0.0.0/8", "route flush default", "route flush root 10.9/8",
        "link set w0 mtu 65536", "link set w0 mtu 65535", "link set w0 mtu 67", "link set m0 mtu 65536",
        "link set w0 mtu 4294967295", "link set w0 mtu 2147483648", "link set w0 mtu 1500",
        "link set m0 mtu 1501", "link set w0 mtu 1400 mtu 1500", "link set w0 qlen 4294967295",
        "link set lo mtu 2147483647",
    ]

    /// Quotes were parts of words, lines that go on were joined by a space, and a blank line went on.
    @Test(.needs(.veth)) func `ip -batch takes and refuses the same lines`() throws {
        let words = "route add 10.9.0.0/16" + String(repeating: " dev w0", count: 254)
        let files = [
            "route add '10.9.0.0/16' dev \"w0\"", "route add 10.9.0.0/16'' dev w0",
            "route add '10.9.0.0/16 dev w0",
            "route add '10.9.0.0/16'dev w0", "route add 10.9\\\n.0.0/16 dev w0",
            "route add 10.9.0.0/16 \\\n\n dev w0",
            "route add 10.9.0.0/16 \\\n# dev lo\nroute add 10.8.0.0/16 dev w0",
            "# route add \\\nroute add 10.9/16 dev w0",
            "route add 10.9.0.0/16 dev w0 # dev lo \\\n route add 10.8/16 dev w0",
            "\troute add 10.9.0.0/16\tdev w0\r",
            words, words + " to", "route add 10.9.0.0/16 dev w0 ''",
        ]
        let change = #"printf '%s\n' "$1" | "$0" what-if --batch - -- 203.0.113.1"#
        for text in files {
            let host = try TestNamespace.oneWire()
            let predicted = try host.run(["sh", "-c", change, NetflagsProcess.path, text])
            let made = try host.run(["sh", "-c", #"printf '%s\n' "$0" | ip -batch -"#, text])
            #expect((predicted.status < 2) == (made.status == 0), "\(text): \(predicted) \(made)")
        }
    }

    @Test(.needs(.veth), arguments: [changes, numbers])
    func `ip takes and refuses the same changes`(changes: [String]) throws {
        let host = try LiveNetwork()
        try host.shell(
            """
            ip link add w0 type veth peer name w1; ip link set w1 up; ip link set w0 up
            ip addr add 192.0.2.1/24 dev w0; ip addr add 192.0.2.3/24 dev w0
            ip addr add 2001:db8::1/64 dev w0 nodad; ip link add m0 link w0 type macvlan
            """)
        for change in changes {
            let predicted = try host.run {
                Result { try NetworkState.live().applying([NetworkState.Change(change)]) }
            }
            let isTaken = (try? host.shell("ip \(change)")) != nil
            let refusal = predicted.failure.map { "\($0)" }
            #expect((refusal == nil) == isTaken, "\(change): \(refusal ?? "")")
        }
    }

    @Test(
        arguments: [
            ("-6 route add default dev eth0", "-6 route add default dev eth0"),
            ("ip -family inet6 route add default dev eth0", "-6 route add default dev eth0"),
            ("rule add prio 5 table 7", "rule add pref 5 lookup 7"),
            ("rule add pref 5 type prohibit", "rule add pref 5 prohibit"),
            ("route add 10.0.0.0/8 dev eth0 mtu 1400 advmss 1360", "route add 10.0.0.0/8 dev eth0"),
            ("addr add 10.9.0.1/24 dev eth0 label eth0:0", "addr add 10.9.0.1/24 dev eth0"),
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
