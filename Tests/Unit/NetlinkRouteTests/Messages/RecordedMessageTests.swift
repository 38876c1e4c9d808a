// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim
import Glibc
import NetlinkRoute
import RoutingModel
import TestSupport
import Testing

/// What a real kernel sent: whole, cut at every byte, and changed at random.
struct RecordedMessageTests {
    private static let noMessage = -ENOMSG
    private static let badMessage = -EBADMSG

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
            var neighbour = cnl_neighbour()
            let result = withExactCopy(of: message) { bytes in
                bytes.baseAddress.map { cnl_parse_neighbour($0, bytes.count, &neighbour) } ?? Self.badMessage
            }
            #expect(result == 0 || result == Self.noMessage && message[16] == 7)
            if result == 0 {
                parsed += 1
                #expect(neighbour.interface_index > 0)
                #expect([2, 10].contains(neighbour.family))
            }
        }
        #expect(parsed > 0)
    }

    @Test(arguments: Fixture.all) func `messages cut at any byte are malformed or parsed within their bytes`(
        fixture: Fixture
    ) {
        for message in fixture.messages {
            for length in 0..<message.count {
                cut(message, to: length)
            }
        }
    }

    /// Once with the header's length as it was, once made to fit.
    private func cut(_ message: [UInt8], to length: Int) {
        let untrue = Array(message.prefix(length))
        let refusals = withExactCopy(of: untrue) { parseWithEverything($0) }
        if refusals.contains(where: { $0 != Self.badMessage }) {
            Issue.record("a message cut at \(length) of \(message.count) was not refused")
        }
        guard length >= 16 else { return }
        let fitting = MessageBytes.bytes(of: UInt32(length)) + untrue.dropFirst(4)
        let results = withExactCopy(of: fitting) { parseWithEverything($0) }
        if results.contains(where: { $0 > 1 || $0 < 0 && $0 != Self.badMessage && $0 != Self.noMessage }) {
            Issue.record("a message cut at \(length) gave \(results)")
        }
    }

    @Test(arguments: Fixture.all) func `randomly changed messages are parsed within their bytes`(
        fixture: Fixture
    ) {
        var generator = SeededGenerator(seed: 0x5eed)
        var results = Set<Int32>()
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
        #expect(results.isSubset(of: [0, 1, Self.noMessage, Self.badMessage]))
        #expect(results.contains(Self.badMessage))
    }

    @Test func `random bytes are read within their bounds`() {
        var generator = SeededGenerator(seed: 0xbad)
        let types: [UInt16] = [16, 20, 24, 28, 32, 104]
        for round in 0..<20_000 {
            var bytes = (0..<Int.random(in: 0...160, using: &generator)).map { _ in
                UInt8.random(in: 0...(round % 2 == 0 ? 255 : 24), using: &generator)
            }
            if bytes.count >= 16 {
                let type = types[round % types.count]
                bytes.replaceSubrange(
                    0..<6, with: MessageBytes.bytes(of: UInt32(bytes.count)) + MessageBytes.bytes(of: type))
            }
            let results = withExactCopy(of: bytes) { parseWithEverything($0) }
            #expect(Set(results).isSubset(of: [0, 1, Self.noMessage, Self.badMessage]))
        }
    }

    @Test(arguments: Fixture.all) func `the splitter finds the messages that a simple loop finds`(
        fixture: Fixture
    ) {
        let bytes = fixture.bytes
        let lengths = withExactCopy(of: bytes) { area -> [Int] in
            var (lengths, offset): ([Int], Int) = ([], 0)
            while let base = area.baseAddress, offset < area.count {
                var message = cnl_message(bytes: base, length: 0, type: 0, flags: 0, sequence: 0, port: 0)
                let step = cnl_message_first(base + offset, area.count - offset, &message)
                guard step > 0 else { break }
                lengths.append(Int(message.length))
                offset += step
            }
            return lengths
        }
        #expect(lengths == fixture.messages.map(\.count))
    }
}
