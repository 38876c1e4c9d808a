// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

/// resolv.conf as the C library reads it, which is asked in the same process.
@Suite(.needs(.veth, .mounts))
struct NameServerFileTests {
    private static let seed = getenv("SOAK_SEED").flatMap { UInt64(String(cString: $0)) } ?? 17

    private let host: TestNamespace

    init() throws {
        host = try TestNamespace(.networkAndMounts)
        try host.wire("w0")
        try host.shell(
            "mount -t tmpfs none /mnt; touch /mnt/resolv.conf; "
                + "mount --bind /mnt/resolv.conf $(readlink -f /etc/resolv.conf)")
    }

    /// Writes the file, and expects the library to list what the C library asks.
    private func expectSame(
        _ bytes: [UInt8], _ servers: String? = nil, at location: SourceLocation = #_sourceLocation
    )
        throws
    {
        let octal = bytes.map { "\\0" + String($0 >> 6) + String($0 >> 3 & 7) + String($0 & 7) }.joined()
        try host.shell("printf '%b' '\(octal)' >/mnt/resolv.conf")
        let found = try host.command(["name-servers"])
        let text = String(decoding: bytes, as: UTF8.self).debugDescription
        try #require(found.count == 2)
        #expect(found[0] == found[1], "\(text)", sourceLocation: location)
        if let servers { #expect(found[0] == servers, "\(text)", sourceLocation: location) }
    }

    @Test(
        arguments: [
            ("", "127.0.0.1"), ("search example.com\n", "127.0.0.1"), ("nameserver", "127.0.0.1"),
            ("nameserver \n", "127.0.0.1"), ("nameserver 192.0.2.1", "192.0.2.1"),
            ("nameserver 192.0.2.1\r\n", "127.0.0.1"), ("nameserver\t 192.0.2.1 # x\n", "192.0.2.1"),
            (" nameserver 192.0.2.1\n", "127.0.0.1"), ("NAMESERVER 192.0.2.1\n", "127.0.0.1"),
            ("nameserver192.0.2.1\n", "127.0.0.1"), ("#nameserver 192.0.2.1\n", "127.0.0.1"),
            ("nameserver 192.0.2.1#x\n", "127.0.0.1"), ("nameserver 127.1\n", "127.0.0.1"),
            ("nameserver 0x0a000001\nnameserver 010.0.0.1\n", "10.0.0.1 8.0.0.1"),
            ("nameserver dns.example\nnameserver 192.0.2.2\n", "192.0.2.2"),
            ("nameserver x\nnameserver y\nnameserver z\nnameserver 192.0.2.4\n", "192.0.2.4"),
            (
                "nameserver 192.0.2.1\nnameserver 192.0.2.1\nnameserver ::1\nnameserver 192.0.2.4\n",
                "192.0.2.1 192.0.2.1 ::1"
            ),
            ("nameserver fe80::1%w0\nnameserver fe80::1%nosuch\nnameserver fe80::1%7\n", nil),
            ("nameserver 2001:db8::1%w0\nnameserver ff02::1%w0\nnameserver ff05::1%w0\n", nil),
            ("nameserver ::ffff:192.0.2.1\nnameserver fe80::1%\nnameserver fe80::1%0\n", nil),
            ("nameserver 192.0.2.1\0junk\nnameserver\0 192.0.2.2\n", "192.0.2.1"),
            ("nameserver 0.0.0.0\nnameserver ::\nnameserver 255.255.255.255\n", nil),
            ("nameserver 192.0.2.1\u{b}\nnameserver 192.0.2.2\u{2028}nameserver 192.0.2.3\n", nil),
            ("nameserver [2001:db8::1]:53\nnameserver 192.0.2.1:53\n", "127.0.0.1"),
            ("options nameserver 192.0.2.1\nnameserver 192.0.2.2\n", "192.0.2.2"),
        ] as [(String, String?)])
    func `a line that is odd names what the C library takes it for`(text: String, servers: String?) throws {
        try expectSame(Array(text.utf8), servers)
    }

    @Test func `random files name the servers that the C library asks`() throws {
        print("name server files: SOAK_SEED=\(Self.seed)")
        var random = SeededGenerator(seed: Self.seed)
        let parts: [[UInt8]] =
            [
                "nameserver", "nameserver ", "nameserver\t", "search ", "options ", "#", ";", " ", "\t", "\n",
                "\n", "\n",
                "\r", "\r\n", "192.0.2.1", "192.0.2.2", "192.0.513", "0300.0.2.3", "1", "4294967296",
                "1.2.3.4.5",
                "2001:db8::1", "2001:db8::g", "fe80::1", "%w0", "%1", "%", "::", ":", ".", "x",
            ].map { Array($0.utf8) } + [[0], [0x0b], [0x0c], [0xff], [0xc3]]
        for _ in 0..<Rounds.of(1_000) {
            let bytes = (0..<Int.random(in: 1...30, using: &random)).flatMap { _ in
                parts.randomElement(using: &random) ?? []
            }
            try expectSame(bytes)
        }
    }

    @Test func `a file that is longer than a buffer is read whole`() throws {
        let comment = "#" + String(repeating: "x", count: 30_000) + "\n"
        try host.command(["write", "/mnt/resolv.conf", comment + "nameserver 192.0.2.1\n"])
        #expect(try host.command(["name-servers"]) == ["192.0.2.1", "192.0.2.1"])
    }
}
