// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import NetlinkReachability
import RoutingModel
import SystemSupport
import TestNamespaces
import Testing

@testable import netflags

struct DoctorTests {
    @Test(.needs(.veth))
    func `the interfaces are listed whose strict filter drops the answers of bound sockets`() throws {
        let host = try TestNamespace()
        try host.wire("w1", "192.0.2.1/24")
        try host.wire("w2", "198.51.100.1/24")
        try host.ip(
            "route add default via 192.0.2.254 metric 1", "route add default via 198.51.100.254 metric 2")
        for filter in [0, 1] {
            try host.shell(
                "cd /proc/sys/net/ipv4/conf; echo 0 > all/rp_filter; echo \(filter) > w1/rp_filter; "
                    + "echo \(filter) > w2/rp_filter")
            let result = try host.run([NetflagsProcess.path, "doctor", "--json"])
            let json = try #require(JSONValue(result.output.split(separator: "\n").first ?? ""))
            let expected: [JSONValue] = filter == 0 ? [] : [.string("w2")]
            #expect(json["filteringInterfaces"] == .array(expected), "\(result.output)")
        }
    }

    @Test func `the text names everything that is looked at, one thing a line`() throws {
        let result = try NetflagsProcess.run("doctor")
        #expect(result.status == 0)
        #expect(result.errors == "")
        let labels = result.lines.map { $0.prefix { $0 != " " } }.filter { !$0.isEmpty }
        let expected = [
            "kernel", "libnl", "namespace", "lookups", "strict", "groups", "buffer", "routes", "wifi",
            "nameservers",
            "hosts",
        ]
        #expect(labels.filter { expected.contains(String($0)) } == expected.map { Substring($0) })
    }

    @Test func `the line of each finding ends with what it means`() throws {
        let lines = try NetflagsProcess.run("doctor").lines.filter { !$0.hasPrefix(" ") }
        for line in lines { #expect(line.contains("; "), "\(line)") }
    }

    /// The text of findings of which all but the routes are failures.
    private static func lines(routes: Result<RouteComparison, ReachabilityError>) -> [Substring] {
        let failure = ReachabilityError(in: .systemCall, operation: "ask", number: EPERM)
        let findings = DoctorFindings(
            kernelRelease: "6.1",
            memberships: EventGroup.monitored.map { ($0, .failure(failure)) },
            receiveBuffer: .failure(failure),
            checksStrictly: .failure(failure),
            routes: routes,
            links: [],
            resolver: .read(resolvConf: "/nonexistent/a", nsswitch: "/nonexistent/b"),
            addressPolicyNotes: [],
            lookup: .failure(failure),
            wireless: .failure(failure),
            filters: .success([]),
            processes: .own,
            managers: []
        )
        var buffer = ByteBuffer()
        findings.writeText(to: &buffer)
        return String(decoding: buffer.bytes, as: UTF8.self).split(separator: "\n")
    }

    /// The line of the groups did not where none could be joined.
    @Test func `the line of each failure ends with what it means`() {
        let failure = ReachabilityError(in: .systemCall, operation: "list the routes", number: EPERM)
        for line in Self.lines(routes: .failure(failure)) { #expect(line.contains("; "), "\(line)") }
    }

    /// The lines of the routes did not where they are too many to ask libnl.
    @Test func `the lines of too many routes end with what they mean`() {
        let lines = Self.lines(routes: .success(RouteComparison(onlyKernel: 40_000, 20_000)))
        let counts = lines.filter { $0.contains("0 in the kernel") }
        #expect(counts.count == 2)
        for line in counts { #expect(line.hasSuffix("; answers do not use the cache")) }
    }

    @Test func `the object has every key, with its type`() throws {
        let result = try NetflagsProcess.run("doctor", "--json")
        #expect(result.lines.count == 1)
        let json = try #require(result.lines.first.flatMap { JSONValue($0) })
        #expect(
            json.keys == [
                "kernel", "libnl", "namespace", "lookup", "strictChecking", "groups", "receiveBuffer",
                "routes",
                "interfaceWarnings", "nl80211", "filteringInterfaces", "processes", "resolver",
            ]
        )
        #expect(json["kernel"]?.string?.isEmpty == false)
        #expect(json["libnl"]?.string?.split(separator: ".").count == 3)
        #expect(json["lookup"]?["works"] == .bool(true))
        #expect(try #require(json["lookup"]?["microseconds"]?.number) > 0)
        #expect(
            json["resolver"]?.keys == ["nameservers", "search", "options", "hosts", "gaiConf", "troubles"])
    }

    @Test func `the namespace is the one that the process is in`() throws {
        let result = try NetflagsProcess.run("doctor", "--json")
        var status = stat()
        try #require(stat("/proc/self/ns/net", &status) == 0)
        let json = try #require(result.lines.first.flatMap { JSONValue($0) })
        #expect(json["namespace"] == .number(Double(status.st_ino)))
    }

    @Test func `every group of notifications is listed, joined or with its errno`() throws {
        let result = try NetflagsProcess.run("doctor", "--json")
        let groups = try #require(result.lines.first.flatMap { JSONValue($0) })["groups"]?.elements ?? []
        #expect(groups.map { $0["name"]?.string } == EventGroup.monitored.map(\.name))
        for group in groups {
            // Before Linux 5.3 the group NEXTHOP is neither joined nor refused.
            let isKnown = group["name"]?.string != "NEXTHOP" || group["joined"] == .bool(true)
            #expect(!isKnown || (group["joined"] == .bool(true)) == (group["errno"] == .null))
            #expect((group["errno"] == .null) == (group["error"] == .null))
        }
    }

    @Test func `a receive buffer that was asked for is effective, or as large as the system lets it be`()
        throws
    {
        let result = try NetflagsProcess.run("doctor", "--json")
        let buffer = try #require(result.lines.first.flatMap { JSONValue($0) })["receiveBuffer"]
        let effective = try #require(buffer?["effective"]?.number)
        #expect(buffer?["asked"] == .number(8 * 1_024 * 1_024))
        if buffer?["forced"] == .bool(true) { #expect(effective == 16 * 1_024 * 1_024) }
        #expect(effective > 0)
    }

    private static func route(_ destination: String, through index: UInt32) -> Route {
        Route(destination: IPPrefix(destination) ?? .allV4, nexthops: [Nexthop(interfaceIndex: index)])
    }

    @Test func `lost routes are those of the kernel that libnl does not keep as they are`() throws {
        let all = [1, 2, 2].map { Self.route("192.0.2.0/24", through: $0) }
        let other = Self.route("2001:db8::/32", through: 1)
        let compared = RouteComparison(kernel: all + [other], libnl: Array(all.prefix(2)) + [other])
        #expect(compared.lost == [all[2]])
        #expect(compared.altered == [])
        #expect(compared.ipv4 == RouteComparison.Counts(kernel: 3, libnl: 2))
        #expect(compared.lostCount(.v4) == 1 && compared.lostCount(.v6) == 0)
        #expect(compared.skipReason == nil)
        let altered = RouteComparison(kernel: [all[0]], libnl: [all[1]])
        #expect(altered.lost == [all[0]] && altered.altered == [all[1]])
        let skipped = RouteComparison(onlyKernel: 40_000, 20_000)
        #expect(skipped.ipv4 == RouteComparison.Counts(kernel: 40_000, libnl: nil))
        #expect(skipped.lostCount(.v4) == nil)
        #expect(skipped.skipReason?.contains("50000") == true)
    }

    @Test func `what libnl does not keep is no difference`() {
        var route = Self.route("192.0.2.0/24", through: 2)
        (route.expires, route.preference, route.nexthopID) = (900, .high, 7)
        let compared = RouteComparison(kernel: [route], libnl: [Self.route("192.0.2.0/24", through: 2)])
        #expect(compared.lost == [])
    }

    @Test func `the kernel's routes are counted by family, and libnl's cache is held against them`() throws {
        let result = try NetflagsProcess.run("doctor", "--json")
        let routes = try #require(result.lines.first.flatMap { JSONValue($0) })["routes"]
        #expect(routes?.keys == ["ipv4", "ipv6", "lost", "altered", "skipped", "errno", "error"])
        for family in ["ipv4", "ipv6"] {
            #expect(routes?[family]?.keys == ["kernel", "libnl", "lost"])
        }
    }

    @Test(
        .needs(.veth),
        .enabled(if: KernelDiagnosis.libnlRelease == "3.7.0", "another libnl can have another key"))
    func `the routes that libnl's cache merges are listed, the first ten in the text`() throws {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        for last in 1...12 {
            // The key of libnl 3.7 has no type.
            try host.ip(
                "route add 203.0.113.\(last) via 192.0.2.254", "route append blackhole 203.0.113.\(last)")
        }
        let output = try host.run([NetflagsProcess.path, "doctor"]).output
        let lines = output.split(separator: "\n").filter { $0.contains("in the kernel alone: ") }
        #expect(lines.filter { $0.contains(" 203.0.113.") }.count == 10, "\(output)")
        // It merges the IPv6 routes of links, too.
        #expect(lines.last?.hasSuffix(" more, see --json") == true && lines.count == 11, "\(output)")
        let json = JSONValue(try host.run([NetflagsProcess.path, "doctor", "--json"]).output.dropLast())
        let lost = json?["routes"]?["lost"]?.elements.compactMap(\.string) ?? []
        #expect(lost.filter { $0.contains(" 203.0.113.") }.count == 12)
    }

    @Test(
        arguments: [
            (0, "0.0"), (49, "0.0"), (50, "0.1"), (999, "1.0"), (4_149, "4.1"), (4_150, "4.2"),
            (1_000_000, "1000.0"),
        ]
    )
    func `times are microseconds with one digit behind the point`(nanoseconds: Int, expected: String) {
        #expect(microseconds(nanoseconds) == expected)
    }
}

struct ResolverConfigurationTests {
    private func read(_ resolvConf: String, _ nsswitch: String) throws -> ResolverConfiguration {
        let files = [try MemoryFile(), try MemoryFile()]
        try files[0].write(Array(resolvConf.utf8))
        try files[1].write(Array(nsswitch.utf8))
        let paths = files.map { "/proc/self/fd/\($0.descriptor)" }
        return ResolverConfiguration.read(resolvConf: paths[0], nsswitch: paths[1])
    }

    @Test func `servers, the last search list and all options are read, comments are not`() throws {
        let configuration = try read(
            "# x\n; y\nnameserver 192.0.2.53\nnameserver\t2001:db8::53 extra\ndomain old.example\n"
                + "search a.example b.example\noptions ndots:2\noptions edns0 rotate\nnameserver",
            "passwd: files\nhosts:  files  mdns4 [NOTFOUND=return] dns # comment\nhostsx: no\n"
        )
        #expect(configuration.nameservers.map(\.description) == ["192.0.2.53", "2001:db8::53"])
        #expect(configuration.search == ["a.example", "b.example"])
        #expect(configuration.options == ["ndots:2", "edns0", "rotate"])
        #expect(configuration.hosts == "files mdns4 [NOTFOUND=return] dns")
        #expect(configuration.errors == [])
    }

    @Test func `a missing file is reported`() {
        let configuration = ResolverConfiguration.read(
            resolvConf: "/nonexistent/a", nsswitch: "/nonexistent/b")
        #expect(
            configuration.errors.map(\.words) == [
                "/nonexistent/a: No such file or directory (errno 2)",
                "/nonexistent/b: No such file or directory (errno 2)",
            ]
        )
        #expect(configuration.hosts == nil)
    }
}
