// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRoute
import Testing

@testable import netflags

struct DoctorTests {
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

    @Test func `the object has every key, with its type`() throws {
        let result = try NetflagsProcess.run("doctor", "--json")
        #expect(result.lines.count == 1)
        let json = try #require(result.lines.first.flatMap { JSONValue($0) })
        #expect(
            json.keys == [
                "kernel", "libnl", "namespace", "lookup", "strictChecking", "groups", "receiveBuffer",
                "routes",
                "nl80211", "resolver",
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

    @Test func `lost routes are those of the kernel that libnl did not keep`() throws {
        let kernel = KernelDiagnosis.RouteCounts(ipv4: 10, ipv6: 7)
        let compared = RouteComparison(kernel: kernel, libnl: .init(ipv4: 9, ipv6: 8))
        #expect(compared.lost(\.ipv4) == 1)
        #expect(compared.lost(\.ipv6) == 0)
        #expect(compared.skipReason == nil)
        let skipped = RouteComparison(kernel: kernel, libnl: nil)
        #expect(skipped.lost(\.ipv4) == nil)
        #expect(skipped.skipReason?.contains("50000") == true)
    }

    @Test func `the kernel's routes are counted by family, and libnl's cache is held against them`() throws {
        let result = try NetflagsProcess.run("doctor", "--json")
        let routes = try #require(result.lines.first.flatMap { JSONValue($0) })["routes"]
        for family in ["ipv4", "ipv6"] {
            let counts = try #require(routes?[family])
            #expect(counts.keys == ["kernel", "libnl", "lost"])
            guard routes?["skipped"] == .null else { continue }
            let (kernel, libnl) = (counts["kernel"]?.number ?? -1, counts["libnl"]?.number ?? -1)
            #expect(counts["lost"] == .number(max(0, kernel - libnl)))
        }
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
        #expect(configuration.nameservers == ["192.0.2.53", "2001:db8::53"])
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
