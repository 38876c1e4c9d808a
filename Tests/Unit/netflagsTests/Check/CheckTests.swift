// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import netflags

@Suite("netflags check")
struct CheckTests {
    @Test("an own address is reachable, local and direct, with status 0", arguments: [[], ["check"]])
    func ownAddress(command: [String]) throws {
        let result = try NetflagsProcess.run(command + ["127.0.0.1"])
        #expect(
            result.output
                == "127.0.0.1  -R -----ld  yes  lo        -                this host's own address\n")
        #expect(result.status == 0)
        #expect(result.complaints == "")
    }

    @Test(
        "with and without the parser of arguments the output is the same",
        arguments: [
            ["127.0.0.1"], ["127.0.0.1", "localhost", "fe80::1", "default"], ["192.0.2.1", "fe80::1%nosuch"],
            ["https://example.com/"], [""], ["127.0.0.1", "check"],
        ]
    )
    func samePaths(targets: [String]) throws {
        let short = try NetflagsProcess.run(targets)
        let long = try NetflagsProcess.run(["check"] + targets)
        #expect(short.output == long.output)
        #expect(short.complaints == long.complaints)
        #expect(short.status == long.status)
    }

    @Test("a target that is not reachable makes the status 1, and the others are answered")
    func unreachable() throws {
        let result = try NetflagsProcess.run("fe80::1", "127.0.0.1")
        #expect(result.status == 1)
        #expect(result.lines.count == 2)
        #expect(result.lines.first?.contains("-- -------  no ") == true)
        #expect(result.lines.last?.contains("-R -----ld  yes") == true)
    }

    @Test("an unknown interface makes the status 2, says so on both outputs, and the others are answered")
    func unknownInterface() throws {
        let result = try NetflagsProcess.run("fe80::1%nosuch", "fe80::1", "127.0.0.1")
        #expect(result.status == 2)
        #expect(result.lines.count == 3)
        #expect(
            result.lines.first?.contains("-- -------  ?    error: there is no interface \"nosuch\"") == true)
        #expect(result.complaints.hasPrefix("netflags: fe80::1%nosuch: there is no interface \"nosuch\""))
        #expect(result.complaints.split(separator: "\n").count == 1)
    }

    @Test("--interface is looked for, but for loopback it does not count")
    func interfaceOption() throws {
        #expect(try NetflagsProcess.run("--interface", "nosuch", "192.0.2.1").status == 2)
        #expect(try NetflagsProcess.run("--interface", "nosuch", "127.0.0.1").status == 0)
    }

    @Test("-4 and -6 leave out the other family")
    func families() throws {
        #expect(try NetflagsProcess.run("-4", "127.0.0.1").status == 0)
        let excluded = try NetflagsProcess.run("-6", "127.0.0.1")
        #expect(excluded.status == 1)
        #expect(excluded.output.contains("no IPv6 address"))
        #expect(try NetflagsProcess.run("-4", "-6", "127.0.0.1").status == 0)
        #expect(try NetflagsProcess.run("-4", "::1").output.contains("no IPv4 address"))
    }

    @Test("a source that is no address of this host cannot be used")
    func source() throws {
        let result = try NetflagsProcess.run("--source", "192.0.2.77", "198.51.100.1")
        #expect(result.status == 1)
        #expect(result.output.contains("the source 192.0.2.77 is not an address of this host"))
    }

    @Test(
        "text that is no host is a usage error that names the host",
        arguments: [
            ("https://example.com/path", "example.com"), ("example.com:443", "example.com"),
            ("[2001:db8::1]:443", "2001:db8::1"), ("user@example.com", "example.com"),
            ("10.0.0.0/8", "10.0.0.0"),
            ("", "the host is empty"), ("300.1.1.1", "four numbers"), ("a b", "a space"), ("eth0%x", "eth0"),
        ]
    )
    func noHost(text: String, advice: String) throws {
        let result = try NetflagsProcess.run(["127.0.0.1", text])
        #expect(result.status == 64)
        #expect(result.output == "", "a usage error is found before anything is asked")
        #expect(result.complaints.hasPrefix("netflags: "))
        #expect(result.complaints.contains(advice))
    }

    @Test("--explain shows addresses, route, interface and source")
    func explanation() throws {
        let result = try NetflagsProcess.run("--explain", "127.0.0.1")
        let labels = result.lines.dropFirst().map { $0.dropFirst(4).prefix { $0 != " " } }
        #expect(labels == ["asked", "route", "nexthop", "interface", "source"])
        #expect(result.lines.allSatisfy { !$0.hasPrefix("    ") || $0.count > 14 })
        #expect(result.output.contains("lo: index 1, loopback"))
        #expect(result.output.contains("    source    127.0.0.1\n"))
    }

    @Test("columns line up under the widest target")
    func columns() throws {
        let result = try NetflagsProcess.run("127.0.0.1", "127.100.200.30", "127.1.1.1")
        let starts = result.lines.map { $0.prefix { $0 != "R" }.count }
        #expect(starts == [17, 17, 17])
    }

    @Test(
        "an empty network namespace has no way anywhere", .enabled(if: Self.canUnshare, "needs unshare -Urn"))
    func emptyNamespace() throws {
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
