// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

extension SeededGenerator {
    /// A random element of a collection, which must not be empty.
    package mutating func pick<Choices: RandomAccessCollection>(_ choices: Choices) -> Choices.Element {
        let distance = Int.random(in: 0..<choices.count, using: &self)
        return choices[choices.index(choices.startIndex, offsetBy: distance)]
    }

    /// An address of either family, often with groups of zeros, so that its text contains `::`.
    package mutating func address() -> IPAddress {
        guard Int.random(in: 0..<4, using: &self) > 0 else {
            return IPAddress(v4: UInt32.random(in: 0...UInt32.max, using: &self))
        }
        let groups: [UInt16] = [
            0, 0, 0, 0, 1, 0xF, 0xAB, 0xFFFF, 0xFE80, UInt16.random(in: 0...0xFFFF, using: &self),
        ]
        var halves: (high: UInt64, low: UInt64) = (0, 0)
        for _ in 0..<4 {
            halves.high = halves.high << 16 | UInt64(pick(groups))
            halves.low = halves.low << 16 | UInt64(pick(groups))
        }
        return IPAddress(v6High: halves.high, low: halves.low)
    }

    /// The text with up to four bytes changed, added, removed or repeated.
    package mutating func mutated(_ text: String, alphabet: [UInt8]) -> String {
        var bytes = Array(text.utf8)
        for _ in 0..<Int.random(in: 0...4, using: &self) {
            let place = Int.random(in: 0...bytes.count, using: &self)
            switch Int.random(in: 0..<4, using: &self) {
            case 0: bytes.insert(pick(alphabet), at: place)
            case 1 where place < bytes.count: bytes[place] = pick(alphabet)
            case 2 where place < bytes.count: bytes.remove(at: place)
            default: bytes.insert(contentsOf: bytes[place...].prefix(6), at: place)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
