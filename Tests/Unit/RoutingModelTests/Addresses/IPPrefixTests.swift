// SPDX-License-Identifier: Apache-2.0

import Foundation
import RoutingModel
import TestSupport
import Testing

struct IPPrefixTests {
    @Test(arguments: [
        ("10.0.0.0/8", "10.0.0.0/8"), ("10.1.2.3/8", "10.0.0.0/8"), ("0.0.0.0/0", "0.0.0.0/0"),
        ("::/0", "::/0"), ("1.2.3.4", "1.2.3.4/32"), ("::1", "::1/128"),
        ("255.255.255.255/31", "255.255.255.254/31"), ("2001:DB8:ffff::1/33", "2001:db8:8000::/33"),
        ("ffff::ffff/64", "ffff::/64"), ("::ffff:1.2.3.4/96", "::ffff:0.0.0.0/96"),
        ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/127", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127"),
        ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/65", "ffff:ffff:ffff:ffff:8000::/65"),
    ])
    func `text is read and printed in its canonical form`(text: String, canonical: String) throws {
        let prefix = try #require(IPPrefix(text))
        #expect(prefix.description == canonical)
        #expect(IPPrefix(canonical) == prefix)
    }

    @Test(arguments: [
        "", "/", "/8", "default", "all", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8",
        "10.0.0.0/08", "10.0.0.0/8/8", "10.0.0.0//8", "10.0.0.0/8 ", "10.0.0.0 /8", "10/8", "10.0.0/8",
        "10.0.0.0/255.0.0.0", "::/129", "::/999", "::/1000", "::/99999999999999999999", "::/x", "::/٣",
        "fe80::1%eth0", "fe80::%eth0/64", "::/64%eth0", "1.2.3.4\0", "10.0.0.0/8\0",
    ])
    func `anything else is refused`(text: String) {
        #expect(IPPrefix(text) == nil)
    }

    @Test func `a length out of range makes no prefix`() {
        for (address, width) in [(IPAddress(1, 2, 3, 4), 32), (IPAddress.loopbackV6, 128)] {
            for length in [Int.min, -1, width + 1, 256, 260, Int.max] {
                #expect(IPPrefix(address, length: length) == nil)
            }
            for length in 0...width {
                #expect(IPPrefix(address, length: length)?.length == length)
            }
        }
    }

    @Test func `a prefix has no zone and ignores that of an address`() throws {
        let scoped = try #require(IPAddress("fe80::1%eth0"))
        let prefix = try #require(IPPrefix(scoped, length: 10))
        #expect(prefix.address == IPAddress("fe80::"))
        #expect(prefix.contains(scoped))
        #expect(IPPrefix(scoped, length: 128)?.contains(scoped) == true)
    }

    @Test func `the whole families are default prefixes, and single addresses are hosts`() {
        #expect(IPPrefix.allV4.description == "0.0.0.0/0")
        #expect(IPPrefix.allV6.description == "::/0")
        #expect(IPPrefix.allV4.isDefault && IPPrefix.allV6.isDefault)
        #expect(!IPPrefix.allV4.isHost && !IPPrefix.allV6.isHost)
        #expect(IPPrefix("1.2.3.4")?.isHost == true)
        #expect(IPPrefix("::1/32")?.isHost == false)
        #expect(IPPrefix("0.0.0.0/1")?.isDefault == false)
    }

    @Test func `no family contains the other`() throws {
        #expect(!IPPrefix.allV4.contains(IPPrefix.allV6))
        #expect(!IPPrefix.allV6.contains(IPPrefix.allV4))
        #expect(!IPPrefix.allV6.contains(.loopbackV4))
        let mapped = try #require(IPAddress("::ffff:10.0.0.1"))
        #expect(!IPPrefix.allV4.contains(mapped))
        #expect(IPPrefix.allV4.contains(mapped.unmapped))
    }

    @Test func `containment and the last address agree with a bit-by-bit twin`() throws {
        var generator = SeededGenerator(seed: 7)
        var inside = 0
        let rounds = Rounds.of(50_000)
        for _ in 0..<rounds {
            let address = generator.address()
            let length = Int.random(in: 0...address.family.bitWidth, using: &generator)
            let prefix = try #require(IPPrefix(address, length: length))
            let twin = BitwisePrefix(address, length: length)
            #expect(prefix.address == twin.filled(with: false))
            #expect(prefix.lastAddress == twin.filled(with: true))
            let other = near(address, using: &generator)
            #expect(prefix.contains(other) == twin.contains(other), "\(prefix) \(other)")
            if prefix.contains(other) { inside += 1 }
            let otherLength = Int.random(in: 0...other.family.bitWidth, using: &generator)
            let otherPrefix = try #require(IPPrefix(other, length: otherLength))
            let expected = otherLength >= length && twin.contains(otherPrefix.address)
            #expect(prefix.contains(otherPrefix) == expected, "\(prefix) \(otherPrefix)")
            #expect(IPPrefix(prefix.description) == prefix)
        }
        #expect((rounds / 5...rounds * 4 / 5).contains(inside), "the inputs are one-sided")
    }

    @Test func `every length of every bit is distinguished at its border`() throws {
        for address in [IPAddress(v4: 0xA5A5_A5A5), IPAddress(v6High: 0xA5A5 << 40, low: 0x5A5A << 17)] {
            for length in 0...address.family.bitWidth {
                let prefix = try #require(IPPrefix(address, length: length))
                for bit in 0..<address.family.bitWidth {
                    #expect(
                        prefix.contains(flipping(bit, of: address)) == (bit >= length), "\(prefix) bit \(bit)"
                    )
                }
            }
        }
    }

    @Test func `the order is family, address, length`() {
        let texts = [
            "0.0.0.0/0", "9.0.0.0/8", "10.0.0.0/8", "10.0.0.0/9", "10.0.0.0/32", "10.0.0.1/32", "::/0",
            "::/1",
            "1::/16",
        ]
        let prefixes = texts.compactMap { IPPrefix($0) }
        #expect(prefixes.reversed().sorted().map(\.description) == texts)
        for prefix in prefixes { #expect(!(prefix < prefix)) }
    }

    @Test func `coding uses the text`() throws {
        let json = try JSONEncoder().encode([IPPrefix.allV6])
        #expect(try JSONDecoder().decode([String].self, from: json) == ["::/0"])
        #expect(try JSONDecoder().decode([IPPrefix].self, from: json) == [.allV6])
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([IPPrefix].self, from: Data(#"["default"]"#.utf8))
        }
    }

    @Test func `a prefix is a plain value of 24 bytes`() {
        #expect(_isPOD(IPPrefix.self))
        #expect(MemoryLayout<IPPrefix>.stride == 24)
    }

    /// Mostly the same address with one bit flipped, sometimes one of anywhere.
    private func near(_ address: IPAddress, using generator: inout SeededGenerator) -> IPAddress {
        guard Int.random(in: 0..<8, using: &generator) > 0 else { return generator.address() }
        return flipping(Int.random(in: 0..<address.family.bitWidth, using: &generator), of: address)
    }

    /// The address with that bit, counted from the first, turned over.
    private func flipping(_ bit: Int, of address: IPAddress) -> IPAddress {
        var bytes = address.networkBytes
        bytes[bit / 8] ^= 0x80 >> UInt8(bit % 8)
        return IPAddress(bytes: bytes) ?? address
    }
}

/// A prefix as a list of bits: slow, and right by inspection.
private struct BitwisePrefix {
    let family: IPAddress.Family
    let shared: [Bool]

    init(_ address: IPAddress, length: Int) {
        family = address.family
        shared = Array(Self.bits(address).prefix(length))
    }

    func contains(_ address: IPAddress) -> Bool {
        address.family == family && Self.bits(address).starts(with: shared)
    }

    func filled(with host: Bool) -> IPAddress? {
        let bits = shared + Array(repeating: host, count: family.bitWidth - shared.count)
        let bytes = stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<(start + 8)].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
        }
        return IPAddress(bytes: bytes)
    }

    private static func bits(_ address: IPAddress) -> [Bool] {
        address.networkBytes.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 == 1 } }
    }
}
