// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import Testing

@testable import netflags

/// `netflags sockets` beside `ss`, on a host with connections to a server.
@Suite(.needs(.veth))
struct SocketsTests {
    private let host: TestNamespace
    private let server: TestNamespace

    init() throws {
        host = try TestNamespace()
        server = try host.makePeer()
        try server.ip("addr add 198.51.100.1/32 dev lo")
        try server.address("lo", "2001:db8:ff::1/128")
        try host.wire("w0", "192.0.2.2/24", "2001:db8:1::2/64", to: server)
        try server.address("w0-far", "192.0.2.1/24", "2001:db8:1::1/64", "fe80::1/64")
        try host.ip("route add default via 192.0.2.1", "-6 route add default via 2001:db8:1::1")
        try server.command(["serve"])
        for remote in ["198.51.100.1", "2001:db8:ff::1", "fe80::1%w0"] {
            for kind in ["tcp", "udp"] { _ = try host.command(["connect", kind, remote]) }
        }
        _ = try host.command(["connect", "udp", "::ffff:198.51.100.1"])
        _ = try host.command(["connect", "tcp", "198.51.100.1", "device=w0", "mark=7"])
    }

    private func states(_ rows: [JSONValue]) -> Set<String> {
        Set(rows.map { $0["state"]?.string ?? "none" })
    }

    /// The sockets as `ss` names their ends.
    private func socketsOfSS() throws -> [String] {
        let lines = try host.shell("ss -tunH").split(separator: "\n")
        return lines.map { line in
            let words = line.split(separator: " ")
            let ends = words[4...5].map { $0.replacing("[::ffff:198.51.100.1]", with: "198.51.100.1") }
                .map { $0.replacing("[::ffff:192.0.2.2]", with: "192.0.2.2") }
            return "\(words[0]) \(ends[0]) \(ends[1])"
        }.sorted()
    }

    @Test func `what-if compares the other ends of connections, each once, where no target is named`() throws
    {
        func targets(_ options: String...) throws -> [String] {
            let command = [NetflagsProcess.path, "what-if", "--json"] + options
            let changes = ["route del default", "ip -6 route del default"]
            let output = try host.run(host.entering(command + changes)).output
            return output.split(separator: "\n").compactMap { JSONValue($0)?["target"]?.string }
        }
        let ends = ["198.51.100.1", "2001:db8:ff::1"]
        #expect(try targets().filter(ends.contains) == ends)
        #expect(try targets("-6").filter(ends.contains) == ["2001:db8:ff::1"])
        #expect(try targets("--target=default") == ["default"])
    }

    @Test func `it lists the sockets that ss lists`() throws {
        let text = try host.run([NetflagsProcess.path, "sockets"])
        let found = text.output.split(separator: "\n").map { line in
            let words = line.split(separator: " ")
            return "\(words[1]) \(words[2]) \(words[3])"
        }
        // ss writes the interface of each bound socket behind its local address.
        let expected = try socketsOfSS().map { $0.replacing("192.0.2.2%w0", with: "192.0.2.2") }
        #expect(found.map(plain).sorted() == expected.map(plain).sorted())
        #expect(found.count == 8)
        #expect(text.status == 0)
    }

    /// A line without brackets and zones: ss writes one zone, and only behind the local address of some sockets.
    private func plain(_ line: String) -> String {
        line.replacing("%w0", with: "").replacing("[", with: "").replacing("]", with: "")
    }

    @Test func `each socket has its process, by which --pid selects`() throws {
        let rows = try host.sockets().rows
        #expect(rows.allSatisfy { $0["process"]?.string == "NamespaceProbe" }, "\(rows)")
        let pid = try #require(rows.first?["pid"]?.number)
        #expect(try host.sockets("--pid", "\(Int(pid))").rows.count == rows.count)
        // The shell has none.
        #expect(try host.shell("'\(NetflagsProcess.path)' sockets --pid $$").isEmpty)
    }

    @Test func `of the processes that share a socket, it names the one with the lowest number`() throws {
        let script = """
            exec 3<>/dev/udp/198.51.100.1/99
            sleep 60 &
            echo $$ $!
            '\(NetflagsProcess.path)' sockets --json 3>&-
            kill $!
            """
        // Other shells have no /dev/udp.
        let output = try host.run(["bash", "-c", script]).output
        let lines = output.split(separator: "\n")
        let sharing = try #require(lines.first).split(separator: " ").compactMap { Double($0) }
        let rows = try lines.dropFirst().map { try #require(JSONValue(String($0))) }
        let shared = rows.filter { $0["remotePort"]?.number == 99 }
        #expect(sharing.count == 2)
        #expect(shared.map { $0["pid"]?.number } == [sharing.min()])
    }

    @Test func `the name of a process disturbs neither the table nor JSON`() throws {
        let name = "a\u{1B}[31m\n\"b"
        #expect(try host.command(["rename", name]).isEmpty)
        let text = try host.run([NetflagsProcess.path, "sockets"]).output
        #expect(!text.contains("\u{1B}"))
        #expect(text.split(separator: "\n").count == 8)
        #expect(try host.sockets().rows.allSatisfy { $0["process"]?.string == name })
    }

    @Test func `states follow the network, and with them the exit status`() throws {
        #expect(try states(host.sockets().rows) == ["viable"])
        try host.ip("link set w0 down")
        var found = try host.sockets()
        // IPv6 addresses go with the link.
        #expect(states(found.rows) == ["waiting", "lost"])
        #expect(found.status == 1)
        try host.ip("addr del 192.0.2.2/24 dev w0")
        found = try host.sockets("--state", "lost")
        #expect(states(found.rows) == ["lost"])
        #expect(found.rows.count == 8)
        #expect(try host.sockets("--state", "viable").status == 0)
        #expect(try host.run([NetflagsProcess.path, "sockets", "-q"]).output.isEmpty)
    }

    @Test func `sockets are evaluated each where the kernel chooses a nexthop by their ports`() throws {
        try host.set("net/ipv4/fib_multipath_hash_policy", "1")
        try host.wire("w1", "192.0.3.2/24", to: server)
        try host.ip(
            "addr add 10.0.0.1/32 dev lo",
            "route replace default nexthop via 192.0.2.1 dev w0 nexthop via 192.0.3.1 dev w1 onlink")
        for _ in 0..<24 { _ = try host.command(["connect", "udp", "198.51.100.1", "from=10.0.0.1"]) }
        try server.ip("link set w1-far down")
        try host.wait(for: "w1", state: "DOWN")
        let rows = try host.sockets().rows.filter { $0["local"]?.string == "10.0.0.1" }
        #expect(rows.count == 24)
        #expect(states(rows) == ["viable", "waiting"])
    }

    @Test func `the exit status of --quiet is about the sockets of --pid alone`() throws {
        let pid = try #require(host.sockets().rows.first?["pid"]?.number)
        try host.ip("link set w0 down")
        func status(_ pid: String) throws -> Int {
            try host.run(["sh", "-c", "'\(NetflagsProcess.path)' sockets --quiet --pid \(pid)"]).status
        }
        #expect(try status("\(Int(pid))") == 1)
        #expect(try status("$$") == 0)
    }

    @Test func `a better path has its interface, gateway and source address`() throws {
        try host.wire("w1", "192.0.3.2/24", to: server)
        try host.ip("route add 198.51.100.1 via 192.0.3.1 dev w1 onlink")
        let found = try host.sockets("--state", "better")
        // The socket that is bound to w0 stays there.
        #expect(found.rows.count == 3)
        for row in found.rows {
            #expect(row["betterPath"]?["interface"]?.string == "w1")
            #expect(row["betterPath"]?["gateway"]?.string == "192.0.3.1")
            #expect(row["betterPath"]?["sourceAddress"]?.string == "192.0.3.2")
        }
        #expect(found.status == 0)
    }

    @Test func `sockets to one address are evaluated apart where a rule looks at a port`() throws {
        _ = try host.command(["connect", "udp", "198.51.100.1"])
        let port = try #require(
            host.sockets().rows.first { $0["protocol"]?.string == "udp" }?["localPort"]?.number)
        let family = try #require(
            host.sockets().rows.first { $0["localPort"]?.number == port }?["local"]?.string)
        let option = family.contains(":") ? "-6 " : ""
        try host.ip("\(option)rule add sport \(Int(port)) ipproto udp prohibit")
        let found = try host.sockets("--state", "waiting").rows
        #expect(found.map { $0["localPort"]?.number } == [port])
    }

    @Test func `with --watch there is a line for each socket, for a new one and at each change`() throws {
        let watch = try RunningNetflags(["sockets", "--watch", "--json"], in: host)
        for _ in 0..<8 { #expect(try watch.row()?["state"]?.string == "viable") }
        _ = try host.command(["connect", "udp", "192.0.2.1"])
        let new = try watch.row()
        #expect(new?["remote"]?.string == "192.0.2.1")
        #expect(new?["time"]?.string != nil)
        try host.ip("addr del 192.0.2.2/24 dev w0")
        var lost = 0
        while lost < 5 { lost += try watch.row()?["state"]?.string == "lost" ? 1 : 0 }
        _ = try watch.end(signal: SIGTERM)
    }

    @Test func `a socket that was connected without an address waits in a line of --watch, which goes on`()
        throws
    {
        // A socket that is bound to an interface without an address has none either.
        try host.ip("link add e0 type veth peer name e1", "link set e0 up", "link set e1 up")
        try host.ip("addr del 192.0.2.2/24 dev w0", "route add default dev e0")
        _ = try host.command(["connect", "udp", "203.0.113.9", "device=e0"])
        let watch = try RunningNetflags(["sockets", "--watch", "--json"], in: host)
        var rows: [JSONValue] = []
        while rows.count < 9 { rows.append(try #require(try watch.row())) }
        let row = try #require(rows.first { $0["local"]?.string == "0.0.0.0" })
        #expect(row["state"]?.string == "waiting")
        _ = try host.command(["connect", "udp", "127.0.0.1"])
        #expect(try watch.row()?["state"]?.string == "local")
        _ = try watch.end(signal: SIGTERM)
    }

    @Test func `a process in another network namespace is an error that says how to ask there`() throws {
        let result = try host.run([NetflagsProcess.path, "sockets", "--pid", "\(getpid())"])
        #expect(result.status == 2)
        #expect(result.output.contains("nsenter --net --target \(getpid())"), "\(result.output)")
    }

    @Test func `a process in another network namespace has the sockets that it was handed here`() throws {
        let script = """
            exec 3<>/dev/udp/198.51.100.1/99
            unshare --net sleep 60 &
            until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.01; done
            '\(NetflagsProcess.path)' sockets --json --pid $! 3>&-
            kill $!
            """
        let output = try host.run(["bash", "-c", script]).output
        let rows = try output.split(separator: "\n").map { try #require(JSONValue(String($0))) }
        #expect(rows.map { $0["remotePort"]?.number } == [99])
        #expect(rows.allSatisfy { $0["code"]?.string != nil })
    }

    @Test func `a socket that its program has closed is not listed`() throws {
        // The kernel keeps the socket until the other end has answered.
        try host.ip("link set w0 down")
        _ = try host.command(["disconnect", "1"])
        #expect(try socketsOfSS().count == 8)
        #expect(try host.sockets().rows.count == 7)
    }

    @Test func `a process that does not exist is an error that names it`() throws {
        let result = try NetflagsProcess.run("sockets", "--pid", "2147483647")
        #expect(result.status == 2)
        #expect(result.errors.contains("the process 2147483647"))
        #expect(try NetflagsProcess.run("sockets", "--watch", "-q").status == 64)
    }
}
