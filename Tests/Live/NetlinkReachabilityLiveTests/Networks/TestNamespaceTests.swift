// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import Testing

struct TestNamespaceTests {
    @Test(.needs()) func `a namespace and its peer end with their objects`() throws {
        var host: TestNamespace? = try TestNamespace()
        var peer = try host?.makePeer()
        let processes = [host, peer].compactMap { $0?.processIdentifier }
        #expect(processes.count == 2)
        for process in processes { #expect(kill(process, 0) == 0) }
        host = nil
        #expect(try peer?.ip("-o link show").contains(" lo: ") == true)
        peer = nil
        for process in processes { #expect(kill(process, 0) == -1 && errno == ESRCH) }
    }

    @Test(.needs()) func `a namespace differs from the process's and from its peer`() throws {
        let host = try TestNamespace()
        let peer = try host.makePeer()
        let here = try #require(namespace("self"))
        let there = try #require(namespace("\(host.processIdentifier)"))
        let beyond = try #require(namespace("\(peer.processIdentifier)"))
        #expect(Set([here, there, beyond]).count == 3)
    }

    @Test(.needs()) func `a failed command throws its own message`() throws {
        let host = try TestNamespace()
        let failure = try #require(throws: NamespaceFailure.self) { try host.ip("link show dev nope") }
        #expect(failure.description.contains("nope"))
        #expect(throws: NamespaceFailure.self) { try host.command(["nonsense"]) }
        #expect(throws: NamespaceFailure.self) { try host.ask(.pair(local: "x", remote: "y")) }
        #expect(try host.ip("-o link show").contains(" lo: "))
    }

    @Test(arguments: [["a"], [""], ["a", "", "b"], ["\t", "\n", "\\"], ["\\t", "a\\\tb\\\\n\n"]])
    func `every field survives a line`(fields: [String]) {
        let line = Fields.line(fields)
        #expect(!line.contains("\n"))
        #expect(Fields.read(line) == fields)
    }

    private func namespace(_ process: String) -> UInt64? {
        var status = stat()
        return stat("/proc/\(process)/ns/net", &status) == 0 ? UInt64(status.st_ino) : nil
    }
}
