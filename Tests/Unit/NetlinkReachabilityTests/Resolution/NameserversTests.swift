// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import Testing

struct NameserversTests {
    private func inUse(_ resolvConf: String?, resolved: String? = nil) throws -> [String] {
        let (first, second) = (try Text(resolvConf), try Text(resolved))
        let servers = Nameservers.inUse(resolvConf: first.path, resolvedConf: second.path)
        return try #require(servers).map(\.description)
    }

    @Test func `the servers of resolv.conf are used, the first three of them`() throws {
        let servers = ["192.0.2.1", "2001:db8::1", "fe80::1%eth0", "192.0.2.4"]
        let text = servers.map { "nameserver \($0)\n" }.joined()
        #expect(try inUse(text) == ["192.0.2.1", "2001:db8::1", "fe80::1%eth0"])
    }

    @Test func `without a server, or without a file, the C library asks this host`() throws {
        #expect(try inUse("search example.com\n#nameserver 192.0.2.1\n") == ["127.0.0.1"])
        #expect(try inUse(nil) == ["127.0.0.1"])
    }

    @Test func `a text that is not an address is not a server`() throws {
        #expect(try inUse("nameserver dns.example.com\nnameserver 192.0.2.1\n") == ["192.0.2.1"])
    }

    @Test(arguments: ["127.0.0.53", "127.0.0.54"])
    func `behind systemd-resolved's own address are the servers that it asks`(own: String) throws {
        let behind = "nameserver 192.0.2.7\nnameserver 192.0.2.8\n"
        #expect(try inUse("nameserver \(own)\n", resolved: behind) == ["192.0.2.7", "192.0.2.8"])
    }

    @Test func `systemd-resolved without servers does not count`() throws {
        #expect(try inUse("nameserver 127.0.0.53\n", resolved: "search .\n") == [])
    }

    @Test func `systemd-resolved whose servers cannot be read counts as a server`() throws {
        #expect(try inUse("nameserver 127.0.0.53\n") == ["127.0.0.53"])
    }

    @Test func `another server on this host counts as a server`() throws {
        #expect(try inUse("nameserver 127.0.0.1\n", resolved: "nameserver 192.0.2.7\n") == ["127.0.0.1"])
    }
}

/// A file with a text, or a path where there is none; gone with the value.
private final class Text {
    let path: String

    init(_ text: String?) throws {
        var template = Array("/tmp/nameservers-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        if let text {
            let bytes = Array(text.utf8)
            try #require(write(descriptor, bytes, bytes.count) == bytes.count)
        } else {
            unlink(path)
        }
    }

    deinit {
        unlink(path)
    }
}
