// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

@testable import netflags

struct CheckTests {
    @Test(arguments: [[], ["check"]])
    func `an address of this host is reachable, local and direct, with status 0`(command: [String]) throws {
        let result = try NetflagsProcess.run(command + ["127.0.0.1"])
        #expect(
            result.output
                == "127.0.0.1  -R -----ld  yes  lo  -  this host's own address\n")
        #expect(result.status == 0)
        #expect(result.errors == "")
    }

    @Test(
        arguments: [
            ["127.0.0.1"], ["127.0.0.1", "localhost", "fe80::1", "default"], ["192.0.2.1", "fe80::1%nosuch"],
            ["https://example.com/"], [""],
        ]
    )
    func `the output is the same with and without the argument parser`(targets: [String]) throws {
        let short = try NetflagsProcess.run(targets)
        let long = try NetflagsProcess.run(["check"] + targets)
        #expect(short.output == long.output)
        #expect(short.errors == long.errors)
        #expect(short.status == long.status)
    }

    @Test func `a target that is not reachable gives status 1, and the others are evaluated`() throws {
        let result = try NetflagsProcess.run("fe80::1", "127.0.0.1")
        #expect(result.status == 1)
        #expect(result.lines.count == 2)
        #expect(result.lines.first?.contains("-- -------  no ") == true)
        #expect(result.lines.last?.contains("-R -----ld  yes") == true)
    }

    @Test
    func `an unknown interface gives status 2, a reason and a line on standard error`()
        throws
    {
        let result = try NetflagsProcess.run("fe80::1%nosuch", "fe80::1", "127.0.0.1")
        #expect(result.status == 2)
        #expect(result.lines.count == 3)
        #expect(
            result.lines.first?.hasSuffix("there is no interface \"nosuch\"") == true)
        #expect(result.errors.hasPrefix("netflags: fe80::1%nosuch: there is no interface \"nosuch\""))
        #expect(result.errors.split(separator: "\n").count == 1)
    }

    @Test func `--interface with an interface that does not exist is an error for every target`() throws {
        #expect(try NetflagsProcess.run("--interface", "nosuch", "192.0.2.1").status == 2)
        #expect(try NetflagsProcess.run("--interface", "nosuch", "127.0.0.1").status == 2)
    }

    @Test func `-4 and -6 exclude the other family`() throws {
        #expect(try NetflagsProcess.run("-4", "127.0.0.1").status == 0)
        let excluded = try NetflagsProcess.run("-6", "127.0.0.1")
        #expect(excluded.status == 1)
        #expect(excluded.output.contains("no IPv6 address"))
        #expect(try NetflagsProcess.run("-4", "-6", "127.0.0.1").status == 0)
        #expect(try NetflagsProcess.run("-4", "::1").output.contains("no IPv4 address"))
    }

    @Test func `a source that is not an address of this host makes the target unreachable`() throws {
        let result = try NetflagsProcess.run("--source", "192.0.2.77", "198.51.100.1")
        #expect(result.status == 1)
        #expect(result.output.contains("the source 192.0.2.77 is not an address of this host"))
    }

    @Test(
        arguments: [
            ("https://example.com/path", "example.com"), ("example.com:443", "example.com"),
            ("[2001:db8::1]:443", "2001:db8::1"), ("user@example.com", "example.com"),
            ("10.0.0.0/8", "10.0.0.0"),
            ("", "the host is empty"), ("300.1.1.1", "four numbers"), ("a b", "a space"),
            ("192.0.2.1 192.0.2.2", "a space"), ("eth0%x", "eth0"),
        ]
    )
    func `text that is not a host is a usage error that names the host`(text: String, advice: String) throws {
        let result = try NetflagsProcess.run(["127.0.0.1", text])
        #expect(result.status == 64)
        #expect(result.output == "", "a usage error is found before any target is evaluated")
        #expect(result.errors.hasPrefix("netflags: "))
        #expect(result.errors.contains(advice))
    }

    @Test func `--explain shows addresses, route, interface, source and socket`() throws {
        let result = try NetflagsProcess.run("--explain", "127.0.0.1")
        let labels = result.lines.dropFirst().map { $0.dropFirst(4).prefix { $0 != " " } }
        #expect(labels == ["asked", "route", "nexthop", "interface", "source", "socket", "note"])
        #expect(result.lines.allSatisfy { !$0.hasPrefix("    ") || $0.count > 14 })
        #expect(result.output.contains("lo: index 1, loopback"))
        #expect(result.output.contains("    source    127.0.0.1\n"))
        #expect(result.output.contains("    socket    connects from 127.0.0.1\n"))
        #expect(result.lines.last == "    note      not looked at: firewall")
    }

    /// The line said yes above one that said refused.
    @Test(.needs(.veth, .ipsecPolicies))
    func `--explain says no where a socket is refused, and the flags stay`()
        throws
    {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        try host.ip("xfrm policy add dir out src 0.0.0.0/0 dst 192.0.2.9 action block")
        #expect(try host.run([NetflagsProcess.path, "192.0.2.9"]).status == 0)
        let result = try host.run([NetflagsProcess.path, "--explain", "192.0.2.9"])
        let line = result.output.split(separator: "\n").first ?? ""
        #expect(result.status == 1 && line.contains("-R ------d  no "), "\(result.output)")
        #expect(line.hasSuffix("a socket is refused with EPERM, although there is a route"), "\(line)")
    }

    @Test(.needs(.veth, .bridge, .macvlan))
    func `--explain and doctor warn of addresses on ports of bridges and on macvlans`() throws {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        try host.ip(
            "link add br0 type bridge", "link set br0 up", "link set w0 master br0",
            "link add mv0 link br0 type macvlan mode bridge", "link set mv0 up",
            "addr add 198.51.100.1/24 dev mv0")
        for (target, words) in [
            (
                "192.0.2.9",
                "w0 is a port of a bridge: 192.0.2.1 on it answers no ARP, so give it to the bridge"
            ),
            ("198.51.100.9", "mv0 is a macvlan: it and the interface below do not reach each other"),
        ] {
            let explained = try host.run([NetflagsProcess.path, "--explain", target]).output
            #expect(explained.contains("    warning   \(words)\n"), "\(explained)")
            let doctor = try host.run([NetflagsProcess.path, "doctor"]).output
            #expect(doctor.contains(words), "\(doctor)")
        }
    }

    @Test(.needs(.veth, .bridge)) func `--explain and doctor warn of ports that their bridge does not use`()
        throws
    {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        try host.wire("w1", "203.0.113.1/24")
        try host.ip(
            "link add br0 type bridge", "link set br0 up", "link set w0 master br0", "link set w1 master br0",
            "addr add 198.51.100.1/24 dev br0", "neigh add 198.51.100.9 lladdr 02:00:00:00:00:09 dev br0")
        let send = """
            bytes() { awk '$1 == "w0-far:" { print $2 }' /proc/net/dev; }
            before=$(bytes)
            head -c 1200 /dev/zero > /dev/udp/198.51.100.9/9
            if [ $(($(bytes) - before)) -gt 1000 ]; then echo arrives; fi
            """
        let warnings = [
            ("198.51.100.9", "br0 passes no frames through w0 (learning)"),
            ("192.0.2.9", "w0 is a port in the state learning: its bridge drops what arrives there"),
        ]
        for (state, passes) in [(3, true), (2, false)] {
            try host.ip("link set dev w0 type bridge_slave state \(state)")
            #expect(try host.run(["bash", "-c", send]).output.contains("arrives") == passes)
            let doctor = try host.run([NetflagsProcess.path, "doctor"]).output
            for (target, words) in warnings {
                let explained = try host.run([NetflagsProcess.path, "--explain", target]).output
                #expect(explained.contains("    warning   \(words)\n") != passes, "\(explained)")
                #expect(doctor.contains(words) != passes, "\(doctor)")
            }
        }
    }

    @Test(.needs(.veth)) func `--explain names the interface of each nexthop`() throws {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        try host.wire("w1", "198.51.100.1/24")
        try host.ip("route add default nexthop via 192.0.2.9 dev w0 nexthop via 198.51.100.9 dev w1")
        let result = try host.run([NetflagsProcess.path, "--explain", "203.0.113.1"])
        for nexthop in ["via 192.0.2.9 on w0", "via 198.51.100.9 on w1"] {
            #expect(result.output.contains("    nexthop   \(nexthop)\n"), "\(result.output)")
        }
    }

    @Test func `columns line up under the widest target`() throws {
        let result = try NetflagsProcess.run("127.0.0.1", "127.100.200.30", "127.1.1.1")
        let starts = result.lines.map { $0.prefix { $0 != "R" }.count }
        #expect(starts == [17, 17, 17])
    }

    @Test func `a table of addresses fits 80 columns, and only names have an address column`() throws {
        let addresses = try NetflagsProcess.run("127.0.0.1", "default", "::1")
        #expect(addresses.lines.allSatisfy { $0.count <= 80 })
        #expect(addresses.lines.first?.split(separator: " ").prefix(5).last == "lo")
        let names = try NetflagsProcess.run("127.0.0.1", "localhost")
        let cells = names.lines.map { $0.split(separator: " ").prefix(5).last }
        #expect(cells.first == "-")
        #expect(cells.last == "127.0.0.1" || cells.last == "::1")
    }

    @Test(arguments: ["-q", "--quiet"]) func `--quiet prints nothing, and the status is the same`(
        option: String
    ) throws {
        for (target, status) in [("127.0.0.1", 0), ("fe80::1", 1), ("fe80::1%nosuch", 2)] {
            let result = try NetflagsProcess.run(option, target)
            #expect(result.status == Int32(status))
            #expect(result.output + result.errors == "")
        }
    }

    @Test func `a source of another family than the target, or than the only family, is a usage error`()
        throws
    {
        for arguments in [
            ["192.0.2.1", "::1"], ["2001:db8::1", "127.0.0.1"], ["192.0.2.1", "-6", "localhost"],
        ] {
            let result = try NetflagsProcess.run(["--source"] + arguments)
            #expect(result.status == 64)
            #expect(result.errors.contains("--source \(arguments[0])"))
        }
    }

    @Test(.enabled(if: Self.canUnshare, "needs unshare -Urn"))
    func `in an empty network namespace there is no route`() throws {
        let output = try MemoryFile()
        let process = try NetflagsProcess.start(
            ["unshare", "-Urn", NetflagsProcess.path, "--explain", "192.0.2.1"],
            descriptors: [0, output.descriptor, output.descriptor]
        )
        let result = try NetflagsProcess.end(process, output: output.text)
        #expect(result.status == 1)
        #expect(result.output.contains("no route"))
        #expect(result.output.contains("    kernel    refused: Network is unreachable (errno 101)"))
    }

    static let canUnshare: Bool = {
        guard let process = try? NetflagsProcess.start(["unshare", "-Urn", "true"], descriptors: []) else {
            return false
        }
        return (try? NetflagsProcess.wait(process)) == 0
    }()
}
