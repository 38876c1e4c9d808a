// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim
import Glibc
import NetlinkReachability
import RoutingModel
import TestSupport
import Testing

/// What a real kernel sent: whole, cut at every byte, and changed at random.
struct RecordedMessageTests {

    @Test(arguments: Fixture.states) func `every recorded message parses`(fixture: Fixture) {
        let contents = fixture.contents
        #expect(contents.count > 10)
        #expect(!contents.contains(.malformed))
        let counted = Dictionary(grouping: fixture.messages) { $0[4] }.mapValues(\.count)
        #expect(fixture.links.count == counted[16] ?? 0)
        #expect(fixture.addresses.count == counted[20] ?? 0)
        #expect(fixture.routes.count == counted[24] ?? 0)
    }

    @Test(arguments: Fixture.all.filter { $0.name.hasSuffix("neigh") })
    func `every recorded neighbour parses, or is a bridge's`(fixture: Fixture) {
        var parsed = 0
        for message in fixture.messages where message[4] == 28 {
            let content = withExactCopy(of: message) { NetlinkMessage($0)?.content ?? .malformed }
            guard case .change(.neighbour(let neighbour)) = content else {
                #expect(content == .ignored && message[16] == 7)
                continue
            }
            parsed += 1
            #expect(neighbour.key.interfaceIndex > 0)
        }
        #expect(parsed > 0)
    }

    @Test(arguments: Fixture.all) func `messages cut at any byte are malformed or parsed within their bytes`(
        fixture: Fixture
    ) {
        for message in fixture.messages {
            // Attributes begin at multiples of 4: a step of 3 cuts each of them somewhere.
            for length in 0..<message.count where length < 64 || length % 3 == 0 || Rounds.areAll {
                cut(message, to: length)
            }
        }
    }

    /// Once with the header's length as it was, once made to fit.
    private func cut(_ message: [UInt8], to length: Int) {
        let untrue = Array(message.prefix(length))
        let refusals = withExactCopy(of: untrue) { parseWithEverything($0) }
        if refusals != [.malformed] {
            Issue.record("a message cut at \(length) of \(message.count) was not refused")
        }
        guard length >= 16 else { return }
        let fitting = MessageBytes.bytes(of: UInt32(length)) + untrue.dropFirst(4)
        withExactCopy(of: fitting) { _ = parseWithEverything($0) }
    }

    @Test(arguments: Fixture.all) func `randomly changed messages are parsed within their bytes`(
        fixture: Fixture
    ) {
        var generator = SeededGenerator(seed: 0x5eed)
        var results: Set<ParseResult> = []
        for message in fixture.messages {
            for _ in 0..<40 {
                var changed = message
                for _ in 0..<Int.random(in: 1...6, using: &generator) {
                    // The lengths and types in front decide more than the values behind.
                    let place = Int.random(
                        in: 0..<(Bool.random(using: &generator) ? changed.count : min(64, changed.count)),
                        using: &generator)
                    changed[place] = UInt8.random(in: 0...255, using: &generator)
                }
                if Bool.random(using: &generator) {
                    changed.replaceSubrange(0..<4, with: MessageBytes.bytes(of: UInt32(changed.count)))
                }
                results.formUnion(withExactCopy(of: changed) { parseWithEverything($0) })
            }
        }
        #expect(results.contains(.malformed))
    }

    @Test func `random bytes are read within their bounds`() {
        var generator = SeededGenerator(seed: 0xbad)
        let types: [UInt16] = [16, 20, 24, 28, 32, 104]
        for round in 0..<Rounds.of(100_000) {
            var bytes = (0..<Int.random(in: 0...160, using: &generator)).map { _ in
                UInt8.random(in: 0...(round % 2 == 0 ? 255 : 24), using: &generator)
            }
            if bytes.count >= 16 {
                let type = types[round % types.count]
                bytes.replaceSubrange(
                    0..<6, with: MessageBytes.bytes(of: UInt32(bytes.count)) + MessageBytes.bytes(of: type))
            }
            withExactCopy(of: bytes) { _ = parseWithEverything($0) }
        }
    }

    @Test(arguments: Fixture.all) func `the splitter finds the messages that a simple loop finds`(
        fixture: Fixture
    ) {
        let expected = fixture.messages.map(\.count)
        var (bytes, place) = (fixture.bytes, 0)
        for length in expected {
            // A type that does not end the dump, and the sequence number and the port of the request.
            bytes.replaceSubrange(place + 4..<place + 6, with: MessageBytes.bytes(of: UInt16(24)))
            bytes.replaceSubrange(place + 8..<place + 16, with: Array(repeating: 0, count: 8))
            place += (length + 3) & ~3
        }
        let reading = DatagramReading(bytes, sequence: 0)
        #expect(reading.status == Int32(expected.count))
        #expect(reading.lengths == expected)
    }
}
