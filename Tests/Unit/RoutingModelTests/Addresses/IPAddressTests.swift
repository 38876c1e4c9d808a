// SPDX-License-Identifier: Apache-2.0

import Glibc
import RoutingModel
import TestSupport
import Testing

struct IPAddressTests {
    @Test func `families have the kernel's numbers`() {
        #expect(Int32(IPAddress.Family.v4.rawValue) == AF_INET)
        #expect(Int32(IPAddress.Family.v6.rawValue) == AF_INET6)
        #expect(IPAddress.Family.allCases.map(\.bitWidth) == [32, 128])
        #expect(IPAddress.Family.allCases.map(\.byteCount) == [4, 16])
        #expect(IPAddress.Family.allCases.map(\.description) == ["IPv4", "IPv6"])
    }

    @Test func `every initialiser makes the same address`() {
        let four = IPAddress(192, 0, 2, 1)
        #expect(four == IPAddress(v4: 0xC000_0201))
        #expect(four == IPAddress(bytes: [192, 0, 2, 1]))
        #expect(four == IPAddress("192.0.2.1"))
        let six = IPAddress(v6High: 0x2001_0DB8_0000_0000, low: 0x0102)
        #expect(six == IPAddress(bytes: [0x20, 1, 0x0D, 0xB8] + Array(repeating: 0, count: 10) + [1, 2]))
        #expect(six == IPAddress("2001:db8::102"))
    }

    @Test func `only 4 or 16 bytes are an address`() {
        for count in 0...40 {
            let address = IPAddress(bytes: [UInt8](repeating: 0xFF, count: count))
            #expect((address != nil) == (count == 4 || count == 16), "\(count) bytes")
        }
    }

    @Test func `network bytes are those the initialisers read, at any alignment`() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<2000 {
            let address = generator.address()
            #expect(address.networkBytes.count == address.family.byteCount)
            #expect(IPAddress(bytes: address.networkBytes) == address)
            let shifted = [0] + address.networkBytes
            let read = shifted.withUnsafeBytes { raw in
                raw.baseAddress.map { IPAddress(family: address.family, networkBytes: $0 + 1) }
            }
            #expect(read == address)
        }
    }

    @Test func `constants are glibc's`() {
        #expect(IPAddress.anyV4 == IPAddress(v4: INADDR_ANY))
        #expect(IPAddress.loopbackV4 == IPAddress(v4: INADDR_LOOPBACK))
        #expect(withUnsafeBytes(of: in6addr_any) { IPAddress(bytes: $0) } == .anyV6)
        #expect(withUnsafeBytes(of: in6addr_loopback) { IPAddress(bytes: $0) } == .loopbackV6)
    }

    /// Each row: the address, and which predicates hold.
    @Test(arguments: [
        ("0.0.0.0", "unspecified"), ("::", "unspecified"), ("0.0.0.1", ""), ("1.2.3.4", ""),
        ("127.0.0.1", "loopback"), ("127.255.255.255", "loopback"), ("126.255.255.255", ""),
        ("128.0.0.0", ""), ("::1", "loopback"), ("::2", ""), ("1::1", ""), ("::7f00:1", ""),
        ("0:0:0:1::1", ""), ("169.254.0.0", "linkLocal"), ("169.254.255.255", "linkLocal"),
        ("169.253.255.255", ""), ("169.255.0.0", ""), ("fe80::", "linkLocal zone"),
        ("febf:ffff::1", "linkLocal zone"), ("fec0::", ""), ("fe7f:ffff::", ""), ("::fe80", ""),
        ("224.0.0.0", "multicast"), ("239.255.255.255", "multicast"), ("223.255.255.255", ""),
        ("240.0.0.0", ""), ("ff00::", "multicast"), ("ff01::1", "multicast zone"),
        ("ff02::1", "multicast zone"), ("ff12::1", "multicast zone"), ("ff32::1", "multicast zone"),
        ("ff03::1", "multicast"), ("ff05::2", "multicast"), ("ff0e::1", "multicast"),
        ("ffff::", "multicast"), ("feff::", ""), ("::ffff:0.0.0.0", "mapped"),
        ("::ffff:127.0.0.1", "mapped"), ("::1.2.3.4", ""), ("::fffe:1.2.3.4", ""), ("1::ffff:1.2.3.4", ""),
        ("255.255.255.255", ""),
    ])
    func `predicates follow the RFCs`(text: String, expected: String) throws {
        let address = try #require(IPAddress(text))
        let facts = [
            ("unspecified", address.isUnspecified), ("loopback", address.isLoopback),
            ("linkLocal", address.isLinkLocal), ("multicast", address.isMulticast),
            ("zone", address.needsZone), ("mapped", address.isIPv4Mapped),
        ]
        #expect(facts.filter(\.1).map(\.0).joined(separator: " ") == expected)
    }

    @Test func `a mapped address unmaps to IPv4 with its zone, another stays`() {
        #expect(IPAddress("::ffff:192.0.2.1%eth0")?.unmapped == IPAddress("192.0.2.1%eth0"))
        for text in ["192.0.2.1", "::192.0.2.1", "fe80::1%eth0", "::"] {
            #expect(IPAddress(text)?.unmapped == IPAddress(text))
        }
    }

    @Test func `addresses with different zones differ, and the zone can be removed`() throws {
        let plain = try #require(IPAddress("fe80::1"))
        let scoped = try #require(IPAddress("fe80::1%eth0"))
        #expect(scoped != plain)
        #expect(scoped.zone == ZoneIdentifier("eth0"))
        #expect(scoped.withoutZone == plain)
        #expect(scoped.networkBytes == plain.networkBytes)
        #expect(IPAddress(bytes: plain.networkBytes, zone: scoped.zone) == scoped)
    }

    @Test func `index 0 is not a zone`() {
        var address = IPAddress(v6High: 0xFE80 << 48, low: 1, zone: ZoneIdentifier(index: 0))
        #expect(address.zone == nil)
        address.zone = ZoneIdentifier(index: 2)
        #expect(address.description == "fe80::1%2")
        address.zone = ZoneIdentifier(index: 0)
        #expect(address.description == "fe80::1")
    }

    @Test func `the order is family, number, zone`() {
        let texts = [
            "0.0.0.0", "9.0.0.0", "10.0.0.0", "10.0.0.0%lo", "255.255.255.255", "::", "::1", "::ffff:1.2.3.4",
            "fe80::1", "fe80::1%2", "fe80::1%10", "fe80::1%eth0", "fe80::2", "ffff::",
        ]
        let addresses = texts.compactMap { IPAddress($0) }
        var generator = SeededGenerator(seed: 2)
        #expect(addresses.shuffled(using: &generator).sorted() == addresses)
        #expect(addresses.count == texts.count)
        for (place, left) in addresses.enumerated() {
            for (other, right) in addresses.enumerated() {
                #expect((left < right) == (place < other), "\(left) < \(right)")
            }
        }
    }

    @Test func `an address is a plain value`() {
        #expect(_isPOD(IPAddress.self))
        #expect(MemoryLayout<IPAddress>.stride <= 48)
    }
}
