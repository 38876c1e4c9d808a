// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import NetlinkReachability
import TestNamespaces
import Testing

/// Names from private files of the namespace, so that no server is asked.
struct NameTests {
    private func host(_ lines: String...) throws -> TestNamespace {
        let host = try TestNamespace(.networkAndMounts)
        try host.mustRun("mount", "-t", "tmpfs", "none", "/mnt")
        for (file, text) in [
            ("hosts", lines.joined(separator: "\n") + "\n"), ("nsswitch.conf", "hosts: files\n"),
        ] {
            try host.command(["write", "/mnt/\(file)", text])
            try host.mustRun("mount", "--bind", "/mnt/\(file)", "/etc/\(file)")
        }
        try host.wire("w0", "192.0.2.1/24", "2001:db8::1/64")
        try host.wire("w1", "203.0.113.1/24", "2001:db8:1::1/64")
        return host
    }

    /// The addresses in the order of the system's resolver.
    private func addresses(of name: String, in host: TestNamespace) throws -> [String] {
        let result = try host.run(["getent", "ahosts", name])
        let lines = result.output.split(separator: "\n").filter { $0.contains("STREAM") }
        return lines.compactMap { $0.split(separator: " ").first.map(String.init) }
    }

    @Test(.needs(.veth, .mounts)) func `a name has the flags of its address`() throws {
        let host = try host("192.0.2.9 near.test", "198.51.100.1 far.test", "192.0.2.1 self.test")
        try host.expect("near.test", .direct, "onLink", through: "w0")
        try host.expect("self.test", .own, "localAddress")
        try host.expect("far.test", .none, "noRoute")
        try host.addDefaultRoutes()
        try host.expect("far.test", .routed, "gateway", gateway: "192.0.2.254")
        #expect(try host.ask("far.test").address == "198.51.100.1")
    }

    @Test(.needs(.veth, .mounts)) func `a name without an address is not reachable, and not an error`() throws
    {
        let host = try host("192.0.2.9 near.test")
        try host.addDefaultRoutes()
        try host.expect("nowhere.test", .none, "nameNotFound")
    }

    @Test(.needs(.veth, .mounts)) func `one reachable address suffices`() throws {
        let host = try host("198.51.100.1 many.test", "2001:db8:f::1 many.test", "203.0.113.9 many.test")
        try host.expect("many.test", .direct, "onLink")
        #expect(try host.ask("many.test").address == "203.0.113.9")
        #expect(try host.ask("many.test").findings.count == 3)
        try host.setFarEnd(of: "w1", up: false)
        try host.expect("many.test", .none)
    }

    /// The resolver sorts by routes, but not by dormant links.
    @Test(.needs(.veth, .mounts)) func `the best address decides, at any position`() throws {
        let host = try host("192.0.2.9 pair.test", "203.0.113.9 pair.test")
        for (dormant, best) in [("w0", "203.0.113.9"), ("w1", "192.0.2.9")] {
            try host.ip("link set \(dormant) state dormant")
            try host.expect("pair.test", .direct, "onLink")
            let answer = try host.ask("pair.test")
            #expect(answer.address == best, "\(answer)")
            #expect(answer.findings.contains { $0.hasSuffix("=-R c-----d") }, "\(answer)")
            try host.ip("link set \(dormant) state up")
        }
        try host.ip("link set w0 state dormant", "link set w1 state dormant")
        try host.expect("pair.test", [.direct, .connectionRequired], "dormant")
    }

    @Test(
        .needs(.veth, .mounts),
        arguments: [
            ["192.0.2.9", "203.0.113.9", "2001:db8::9"], ["203.0.113.9", "2001:db8:1::9", "192.0.2.9"],
        ]
    )
    func `among equals the first of the resolver decides`(order: [String]) throws {
        let host = try host(order.map { "\($0) tie.test" }.joined(separator: "\n"))
        try host.expect("tie.test", .direct, "onLink")
        let resolved = try addresses(of: "tie.test", in: host)
        let answer = try host.ask("tie.test")
        #expect(answer.findings == resolved.map { "\($0)=-R ------d" })
        #expect(answer.address == resolved.first)
    }

    @Test(.needs(.veth, .mounts)) func `only the requested families count`() throws {
        let host = try host("192.0.2.9 both.test", "2001:db8:f::1 both.test", "192.0.2.8 old.test")
        try host.expect("both.test", .direct, "onLink", options: "families=v4")
        try host.expect("both.test", .none, "noRoute", options: "families=v6")
        try host.expect("old.test", .none, "nameNotFound", options: "families=v6")
    }

    @Test(.needs(.veth, .mounts)) func `a name with a new address is evaluated by it`() throws {
        let host = try host("192.0.2.9 moving.test")
        try host.expect("moving.test", .direct, "onLink", through: "w0")
        try host.command(["write", "/mnt/hosts", "198.51.100.1 moving.test\n"])
        try host.expect("moving.test", .none, "noRoute")
        try host.command(["write", "/mnt/hosts", "203.0.113.9 moving.test\n"])
        try host.expect("moving.test", .direct, "onLink", through: "w1")
    }
}

extension TestNamespace {
    fileprivate func mustRun(_ program: String...) throws {
        let result = try run(program)
        try #require(result.status == 0, "\(program): \(result.output)")
    }
}
