// SPDX-License-Identifier: Apache-2.0

import Fakes
import Glibc
import NetlinkReachabilityTestKit
import Testing

@testable import NetlinkReachability

final class ResolverFilesTests {
    private let folder: String
    private let files: ResolverFiles

    init() throws {
        var template = Array("/tmp/resolver-files-XXXXXX".utf8CString)
        let made = try #require(mkdtemp(&template))
        folder = String(cString: made)
        mkdir(folder + "/run", 0o700)
        files = try #require(ResolverFiles([folder + "/resolv.conf", folder + "/hosts"]))
    }

    deinit {
        for name in ["run/stub.conf", "run/new", "resolv.conf", "hosts", "other", "new"] {
            unlink(folder + "/" + name)
        }
        rmdir(folder + "/run")
        rmdir(folder)
    }

    private func write(_ name: String) throws {
        let file = try #require(fopen(folder + "/" + name, "w"))
        fputs("nameserver 192.0.2.53\n", file)
        fclose(file)
    }

    @Test func `there is no change at first`() {
        #expect(!files.readChanges())
    }

    @Test(arguments: ["resolv.conf", "hosts"])
    func `a file that appears, changes or disappears is noticed`(name: String) throws {
        try write(name)
        #expect(files.readChanges())
        #expect(!files.readChanges())
        try write(name)
        #expect(files.readChanges())
        unlink(folder + "/" + name)
        #expect(files.readChanges())
    }

    @Test func `a file that is replaced by another is noticed`() throws {
        try write("resolv.conf")
        try write("new")
        #expect(files.readChanges())
        rename(folder + "/new", folder + "/resolv.conf")
        #expect(files.readChanges())
    }

    @Test func `other files of the folder do not count`() throws {
        try write("other")
        #expect(!files.readChanges())
    }

    @Test func `a change of a symbolic link's target is noticed`() throws {
        try write("run/stub.conf")
        symlink("run/stub.conf", folder + "/resolv.conf")
        #expect(files.readChanges())
        try write("run/stub.conf")
        #expect(files.readChanges())
        try write("run/new")
        #expect(!files.readChanges())
        rename(folder + "/run/new", folder + "/run/stub.conf")
        #expect(files.readChanges())
    }

    /// As container engines write a file that they have mounted: its other name is in a folder that is not watched.
    @Test func `a file that is written through another name is noticed`() throws {
        try write("run/stub.conf")
        link(folder + "/run/stub.conf", folder + "/resolv.conf")
        #expect(files.readChanges())
        try write("run/stub.conf")
        #expect(files.readChanges())
        #expect(!files.readChanges())
    }

    @Test func `a file that a name no longer leads to is not watched`() throws {
        try write("run/stub.conf")
        link(folder + "/run/stub.conf", folder + "/resolv.conf")
        #expect(files.readChanges())
        try write("new")
        rename(folder + "/new", folder + "/resolv.conf")
        #expect(files.readChanges())
        try write("run/stub.conf")
        #expect(!files.readChanges())
    }

    @Test func `a missing folder is not an error`() {
        #expect(ResolverFiles(["/nowhere/at/all/resolv.conf"])?.readChanges() == false)
    }

    @Test func `a change has a monitored name resolved again`() async throws {
        let network = ScriptedNetwork(resolverFiles: [folder + "/resolv.conf"])
        var updates = try network.handle(.host("www.example.com")).updates.makeAsyncIterator()
        #expect(try await updates.next() == [])
        await network.source.monitor.settle()
        network.resolver.set("www.example.com", .addresses([.loopbackV4]))
        network.routing.setRoute(.allV4, true)
        try write("resolv.conf")
        // The clock stands until the monitor has noticed; then the files have to settle.
        try await eventually("the name is resolved again") {
            network.clock.advance(by: .milliseconds(100))
            await network.source.monitor.settle()
            return network.resolver.count > 1
        }
        #expect(try await updates.next() == [.reachable, .isDirect])
    }

    @Test func `a change has a monitored path look for name servers again`() async throws {
        let network = ScriptedNetwork(resolverFiles: [folder + "/resolv.conf"])
        network.wire(2, "eth0")
        network.setDefault(.defaultRoute(2, via: "192.0.2.254"))
        network.setNameservers([])
        var iterator = network.source.updates(of: .path()).makeAsyncIterator()
        #expect(try await iterator.next()?.supportsDNS == false)
        await network.settle()
        _ = network.routing.takeCount()
        network.setNameservers([IPAddress(198, 51, 100, 53)])
        try write("resolv.conf")
        // Long before everything is asked again for no reason.
        for _ in 0..<10 {
            network.clock.advance(by: .milliseconds(100))
            await network.settle()
        }
        #expect(network.routing.takeCount() > 0)
        let path = try #require(try await iterator.next())
        #expect(path.supportsDNS && path.nameservers == [IPAddress(198, 51, 100, 53)])
        // Another server that can be reached as well is a change, too.
        network.setNameservers([IPAddress(198, 51, 100, 54)])
        try write("resolv.conf")
        for _ in 0..<10 {
            network.clock.advance(by: .milliseconds(100))
            await network.settle()
        }
        #expect(try await iterator.next()?.nameservers == [IPAddress(198, 51, 100, 54)])
    }
}
