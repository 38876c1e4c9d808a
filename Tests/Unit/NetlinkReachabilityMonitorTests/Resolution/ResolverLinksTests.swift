// SPDX-License-Identifier: Apache-2.0

import Fakes
import Glibc
import NetlinkReachabilityTestKit
import TestSupport
import Testing

@testable import NetlinkReachability

/// Files of the resolver behind symbolic links, some of which lead nowhere at first.
///
/// A thread waits for events, and looks at the files only when one wakes it.
final class ResolverLinksTests {
    private let folder: String

    init() throws {
        var template = Array("/tmp/resolver-links-XXXXXX".utf8CString)
        folder = String(cString: try #require(mkdtemp(&template)))
    }

    deinit {
        _ = ShellCommand.run("rm -r '\(folder)'")
    }

    /// Watches `resolv.conf` after a script made what is there at first.
    private func watch(after script: String) throws -> ResolverFiles {
        try run(script)
        let files = try #require(ResolverFiles([folder + "/resolv.conf"]))
        #expect(!files.readChanges())
        return files
    }

    /// Whether an event of a change wakes the thread that waits for the files, and is one of them.
    private func isNoticed(_ change: String, by files: ResolverFiles) throws -> Bool {
        // Also reads the events of watches that ended.
        #expect(!files.readChanges(), "nothing happened before: \(change)")
        try run(change)
        // The kernel queues the event with the change.
        var interest = pollfd(fd: files.descriptor, events: Int16(POLLIN), revents: 0)
        let isReady = poll(&interest, 1, 0) == 1
        return files.readChanges() && isReady
    }

    private func run(_ script: String) throws {
        try ShellCommand.check("cd '\(folder)'; \(script)")
    }

    @Test func `a destination that is missing at first is noticed when it appears`() throws {
        let files = try watch(after: "mkdir run; ln -s run/stub.conf resolv.conf")
        #expect(try isNoticed("echo > run/stub.conf", by: files))
        #expect(try isNoticed("rm run/stub.conf", by: files))
        #expect(try isNoticed("echo > run/new; mv run/new run/stub.conf", by: files))
    }

    /// As the folder of systemd-resolved, which can start after this program.
    @Test func `folders that are missing at first are noticed as they appear, with the file`() throws {
        let files = try watch(after: "mkdir run; ln -s run/systemd/resolve/stub.conf resolv.conf")
        #expect(try isNoticed("mkdir run/systemd", by: files))
        #expect(try isNoticed("mkdir run/systemd/resolve", by: files))
        #expect(try isNoticed("echo > run/systemd/resolve/stub.conf", by: files))
        #expect(try isNoticed("rm -r run", by: files))
        #expect(
            try isNoticed("mkdir -p run/systemd/resolve; echo > run/systemd/resolve/stub.conf", by: files))
        #expect(try isNoticed("echo >> run/systemd/resolve/stub.conf", by: files))
    }

    @Test(arguments: ["links/middle", "folders/now"]) func `a link on the way that is turned is noticed`(
        link: String
    ) throws {
        let files = try watch(
            after: """
                mkdir first second folders; echo 1 > first/stub.conf; echo 2 > second/stub.conf
                ln -s ../first folders/now; mkdir links last; ln -s ../folders/now/stub.conf links/middle
                ln -s ../links/middle last/link; ln -s last/link resolv.conf
                """)
        let destination = link == "folders/now" ? "../second" : "../second/stub.conf"
        #expect(try isNoticed("ln -s \(destination) second/new; mv -T second/new \(link)", by: files))
        #expect(try isNoticed("echo 3 > second/stub.conf", by: files))
        // No link leads there any longer.
        #expect(try !isNoticed("echo 4 > first/stub.conf", by: files))
    }

    @Test func `a folder on the way that is replaced is noticed`() throws {
        let files = try watch(
            after: """
                mkdir -p var/run var/other; echo > var/run/stub.conf; echo > var/other/stub.conf
                ln -s var/run/stub.conf resolv.conf
                """)
        #expect(try isNoticed("mv var/run var/old; mv var/other var/run", by: files))
        #expect(try !isNoticed("echo > var/old/stub.conf", by: files))
        #expect(try isNoticed("echo > var/run/stub.conf", by: files))
    }

    @Test func `links in a circle are watched, and noticed when they no longer are one`() throws {
        let files = try watch(
            after: "mkdir links; ln -s links/a resolv.conf; ln -s b links/a; ln -s a links/b")
        #expect(try isNoticed("rm links/b; echo > links/b", by: files))
    }

    @Test func `other names in the folders on the way do not count`() throws {
        let files = try watch(
            after:
                "mkdir -p run/resolve; echo > run/resolve/stub.conf; ln -s run/resolve/stub.conf resolv.conf")
        #expect(
            try !isNoticed(
                "echo > other; echo > run/other; mkdir run/systemd; echo > run/resolve/other", by: files))
    }

    @Test func `a monitored path has the name servers of a file whose folder appears`() async throws {
        try run("ln -s run/resolve/stub.conf resolv.conf")
        let network = ScriptedNetwork(resolverFiles: [folder + "/resolv.conf"])
        network.wire(2, "eth0")
        network.setDefault(.defaultRoute(2, via: "192.0.2.254"))
        network.setNameservers([])
        var iterator = network.source.updates(of: .path()).makeAsyncIterator()
        #expect(try await iterator.next()?.supportsDNS == false)
        await network.settle()
        for script in ["mkdir run", "mkdir run/resolve"] {
            try run(script)
            await network.settle()
        }
        _ = network.routing.takeCount()
        network.setNameservers([IPAddress(198, 51, 100, 53)])
        try run("echo > run/resolve/stub.conf")
        // Long before everything is asked again for no reason.
        for _ in 0..<20 {
            network.clock.advance(by: .milliseconds(100))
            await network.settle()
        }
        #expect(network.routing.takeCount() > 0)
        #expect(try await iterator.next()?.supportsDNS == true)
    }
}
