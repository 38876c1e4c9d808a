// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

struct ZoneIdentifierTests {
    @Test(arguments: [
        "lo", "eth0", "a", "wg-home", "eth0.100", "...", "br_é", "123456789012345".dropLast() + "x",
    ])
    func `a name the kernel takes is kept`(name: String) throws {
        let zone = try #require(ZoneIdentifier(name: name))
        #expect(zone.name == name)
        #expect(zone.index == nil)
        #expect(zone.description == name)
        #expect(ZoneIdentifier(name) == zone)
    }

    // "à" holds the byte 0xA0, white space to the kernel; Debian 12's kernel answers EINVAL to it and to "%".
    @Test(arguments: [
        "", ".", "..", "a/b", "a:b", "a b", "a\tb", "a\nb", "a\u{B}b", "a\0b", "\0", "eth%d", "%", "à",
        "sixteen-bytes-ab", String(repeating: "x", count: 100_000), "ééééééé" + "éé",
    ])
    func `a name the kernel refuses is refused`(name: String) {
        #expect(ZoneIdentifier(name: name) == nil)
        #expect(ZoneIdentifier(name) == nil)
    }

    @Test func `a name of digits is refused because it reads as an index`() {
        #expect(ZoneIdentifier(name: "12") == nil)
        #expect(ZoneIdentifier("12") == ZoneIdentifier(index: 12))
    }

    @Test(arguments: [
        ("1", 1), ("42", 42), ("007", 7), ("4294967295", UInt32.max), ("0000000000000000000001", 1),
    ])
    func `digits are an index`(text: String, index: UInt32) throws {
        let zone = try #require(ZoneIdentifier(text))
        #expect(zone.index == index)
        #expect(zone.name == nil)
        #expect(zone.description == "\(index)")
    }

    @Test(arguments: ["0", "000", "4294967296", "99999999999999999999999999"])
    func `digits that are not an index are refused`(text: String) {
        #expect(ZoneIdentifier(text) == nil)
    }

    @Test(arguments: ["-1", "+1", "1x", "٣"])
    func `anything with another character is a name`(text: String) {
        #expect(ZoneIdentifier(text)?.name == text)
    }

    @Test func `zones are ordered by index, then by the bytes of the name`() {
        let texts = ["2", "10", "4294967295", "a", "ab", "abcdefgh", "abcdefghi", "b", "eth0", "lo"]
        let zones = texts.compactMap { ZoneIdentifier($0) }
        #expect(zones.reversed().sorted().map(\.description) == texts)
        #expect(!(ZoneIdentifier(index: 1) < ZoneIdentifier(index: 1)))
    }

    @Test func `an index and a name are different values`() {
        let name = ZoneIdentifier("eth0")
        #expect(ZoneIdentifier(index: 1) != ZoneIdentifier(index: 2))
        #expect(name != ZoneIdentifier(index: 1))
        #expect(Set([name, ZoneIdentifier("eth0"), ZoneIdentifier("eth1")]).count == 2)
    }

    @Test func `a zone stores two integers`() {
        #expect(_isPOD(ZoneIdentifier.self))
        #expect(MemoryLayout<ZoneIdentifier>.size == 16)
    }
}
