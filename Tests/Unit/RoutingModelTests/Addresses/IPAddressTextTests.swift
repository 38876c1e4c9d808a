// SPDX-License-Identifier: Apache-2.0

import Foundation
import RoutingModel
import TestSupport
import Testing

/// The text of addresses, by table and at random.
///
/// glibc reads it, except for zones, and prints IPv6. Where it takes more than an address, ours is refused: `inet_aton`
/// ignores what follows white space, and a C string ends at a NUL.
struct IPAddressTextTests {
    @Test(arguments: [
        ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"),
        ("10.20.30.40%eth0", "10.20.30.40%eth0"), ("::", "::"), ("::1", "::1"), ("1::", "1::"),
        ("0:0:0:0:0:0:0:0", "::"), ("2001:DB8::A", "2001:db8::a"),
        ("2001:0db8:0000:0000:0001:0000:0000:0001", "2001:db8::1:0:0:1"), ("1:0:0:2:0:0:0:3", "1:0:0:2::3"),
        ("1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"), ("1:2:3::5:6:7:8", "1:2:3:0:5:6:7:8"),
        ("1:2:3:4:5:6::", "1:2:3:4:5:6::"), ("::ffff:c000:201", "::ffff:192.0.2.1"),
        ("::ffff:0:0", "::ffff:0.0.0.0"), ("::c000:201", "::192.0.2.1"), ("::1:0", "::0.1.0.0"),
        ("::ffff", "::ffff"), ("::0.0.0.1", "::1"), ("::0.0.255.255", "::ffff"),
        ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"), ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
        ("1:2:3:4:5::1.2.3.4", "1:2:3:4:5:0:102:304"), ("fe80::1%eth0", "fe80::1%eth0"),
        ("fe80::1%3", "fe80::1%3"), ("fe80::1%007", "fe80::1%7"),
        (
            "FFFF:FFFF:FFFF:FFFF:FFFF:FFFF:FFFF:FFFF%123456789abcdef",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%123456789abcdef"
        ),
        ("::ffff:255.255.255.255%é", "::ffff:255.255.255.255%é"),
        ("127.0.0.1%4294967295", "127.0.0.1%4294967295"),
    ])
    func `strict text is read and printed in its canonical form`(text: String, canonical: String) throws {
        #expect(try #require(IPAddress(text)).description == canonical)
        #expect(IPAddress("[\(text)]".dropFirst().dropLast()) == IPAddress(text))
    }

    @Test(arguments: [
        "", " ", "1", "1.2", "1.2.3", "1.2.3.", ".1.2.3", "1..2.3", "1.2.3.4.5", "1.2.3.4.", "256.1.1.1",
        "1.2.3.999", "01.2.3.4", "1.2.3.00", "1.2.3.4 ", " 1.2.3.4", "+1.2.3.4", "-1.2.3.4", "0x7f.0.0.1",
        "1.2.3.a", "1,2,3,4", "1.2.3.4\0", "\0", "1.2.3.4\n", "１.2.3.4", "٣.2.3.4", ":", ":::", "::::",
        "1:", ":1", "1:2", ":1:2:3:4:5:6:7", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:", "1:2:3:4:5:6:7:8:",
        "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "1:2:3:4::5:6:7:8", "1::2::3",
        "::1::", "1:::2", "12345::", "::00001", "::g", "::-1", "::+1", ":: ", "[::1]", "::1.2.3",
        "::1.2.3.4.5", "::1.2.3.4:5", "1.2.3.4::", "1.2.3.4:1::", "1:2:3:4:5:6:7:1.2.3.4",
        "1:2:3:4:5:6::1.2.3.4", "1:2:3:4:5:1.2.3.4", "::01.2.3.4", "::256.1.1.1", "::a.b.c.d", "::1.2.3.4a",
        "::.1.2.3", "%", "::%", "1.2.3.4%", "%eth0", "::%0", "::%4294967296", "::%%", "::%a%b", "::%a/b",
        "::%a b", "::%a:b", "::%.", "::1%sixteen-bytes-ab", "::1/128", "1.2.3.4/32", "::\u{301}", "é",
        "999999999999999999999999", "localhost",
    ])
    func `anything else is refused`(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(arguments: ["1", ".", ":", "%", "0", "f", "::", "1:", "1.", "é", "\0", "::1%a", "::1%1"])
    func `very long text is refused`(unit: String) {
        #expect(IPAddress(String(repeating: unit, count: 200_000)) == nil)
        #expect(IPAddress.legacyIPv4(String(repeating: unit, count: 200_000)) == (unit == "0" ? .anyV4 : nil))
    }

    @Test(arguments: [
        ("127.1", "127.0.0.1"), ("0x7f.1", "127.0.0.1"), ("2130706433", "127.0.0.1"),
        ("0177.0.0.01", "127.0.0.1"), ("0", "0.0.0.0"), ("4294967295", "255.255.255.255"),
        ("0xFFFFFFFF", "255.255.255.255"), ("1.2.3.4", "1.2.3.4"), ("1.2.772", "1.2.3.4"),
        ("1.131844", "1.2.3.4"), ("1.16777215", "1.255.255.255"), ("037777777777", "255.255.255.255"),
        ("0X0a.0", "10.0.0.0"), ("00000000000000000000000000000001", "0.0.0.1"),
        ("1.2.65535", "1.2.255.255"),
    ])
    func `numbers and dots are read as inet_aton reads them`(text: String, canonical: String) {
        #expect(IPAddress.legacyIPv4(text)?.description == canonical)
    }

    @Test(arguments: [
        "", ".", "1.", ".1", "1..2", "4294967296", "0x100000000", "040000000000", "99999999999999999999",
        "256.1", "1.256.1", "1.16777216", "1.2.65536", "1.2.3.256", "1.2.3.4.5", "1.2.3.4.", "08", "1.09",
        "0x", "0x.1", "0xg", "-1", "+1", "1e3", "127.1 x", "127.1 ", " 127.1", "127.1\0", "127.1%lo", "::1",
        "1_0", "٣",
    ])
    func `numbers and dots out of range or shape are refused`(text: String) {
        #expect(IPAddress.legacyIPv4(text) == nil)
    }

    @Test func `coding uses the text`() throws {
        let addresses = ["192.0.2.1%lo", "2001:db8::1", "fe80::1%eth0"].compactMap { IPAddress($0) }
        let json = try JSONEncoder().encode(addresses)
        #expect(String(decoding: json, as: UTF8.self) == #"["192.0.2.1%lo","2001:db8::1","fe80::1%eth0"]"#)
        #expect(try JSONDecoder().decode([IPAddress].self, from: json) == addresses)
        for wrong in [#"["1.2.3"]"#, "[1]", "[null]"] {
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode([IPAddress].self, from: Data(wrong.utf8))
            }
        }
    }
}

// MARK: - At random

extension IPAddressTextTests {
    static let corpus = [
        "0.0.0.0", "127.0.0.1", "255.255.255.255", "192.168.100.1", "::", "::1", "1::", "fe80::1",
        "2001:db8::1:0:0:1", "::ffff:192.0.2.1", "::192.0.2.1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:1.2.3.4",
        "1:2:3:4:5:6:7::", "64:ff9b::1.2.3.4", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "1:0:0:2:0:0:0:3",
        "1::2::3", ":::", "1.2.3.4.5",
    ]

    @Test func `the text of IPv4 is that of glibc for each value of each octet`() {
        for octet in UInt8.min...UInt8.max {
            for octets in [(octet, 0, 9, 255), (10, octet, 99, 1), (100, 199, octet, 0), (0, 1, 20, octet)] {
                let address = IPAddress(octets.0, octets.1, octets.2, octets.3)
                var text = [CChar](repeating: 0, count: Int(INET_ADDRSTRLEN))
                address.withNetworkBytes {
                    _ = inet_ntop(AF_INET, $0.baseAddress, &text, socklen_t(INET_ADDRSTRLEN))
                }
                let expected = text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
                #expect(address.description == String(decoding: expected, as: UTF8.self))
            }
        }
    }

    @Test func `the text of any address reads back`() {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<10_000 {
            let address = generator.address()
            #expect(IPAddress(address.description) == address)
        }
    }

    @Test func `no input traps, and what is taken reads back`() {
        let corpus =
            Self.corpus + [
                "fe80::1%eth0", "::%", "%", "10.0.0.0/8", "::/0", "2001:db8::/32", "fe80::1%3/64", "/",
                "1.2.3.4%lo/32", "0x7f.1",
            ]
        var generator = SeededGenerator(seed: 6)
        let alphabet =
            Array("0123456789abcdefABCDEF::::....%%//xX- ".utf8) + [0, 9, 0x7F, 0x80, 0xA0, 0xC3, 0xFF]
        for _ in 0..<40_000 {
            let text = generator.mutated(generator.pick(corpus), alphabet: alphabet)
            if let address = IPAddress(text) { #expect(IPAddress(address.description) == address, "\(text)") }
            if let prefix = IPPrefix(text) { #expect(IPPrefix(prefix.description) == prefix, "\(text)") }
            if let zone = ZoneIdentifier(text) {
                #expect(ZoneIdentifier(zone.description) == zone, "\(text)")
            }
            if let legacy = IPAddress.legacyIPv4(text) { #expect(legacy.family == .v4) }
        }
    }
}
