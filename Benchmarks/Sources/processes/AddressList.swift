// SPDX-License-Identifier: Apache-2.0

import Duel
import Glibc

/// Addresses to ask about, the same in every run: drawn with a fixed seed from loopback, documentation and
/// private networks.
struct AddressList {
    /// The networks drawn from, as the first address and how many bits to draw.
    private static let networks: [(first: UInt32, bits: UInt32)] = [
        (0x7f00_0000, 24),  // 127.0.0.0/8
        (0xc000_0200, 8),  // 192.0.2.0/24
        (0xc633_6400, 8),  // 198.51.100.0/24
        (0xcb00_7100, 8),  // 203.0.113.0/24
        (0x0a00_0000, 24),  // 10.0.0.0/8
        (0xac10_0000, 20),  // 172.16.0.0/12
        (0xc0a8_0000, 16),  // 192.168.0.0/16
    ]

    let texts: [String]

    init(count: Int) {
        var random = Random(seed: 1)
        texts = (0..<count).map { _ in
            let network = Self.networks[Int(random.next() % UInt64(Self.networks.count))]
            let host = UInt32(truncatingIfNeeded: random.next() >> 16) & ((1 << network.bits) - 1)
            return Self.text(network.first | host)
        }
    }

    /// Writes one line an address, with words before it.
    func write(to path: String, prefix: String = "") throws {
        guard let file = fopen(path, "w") else {
            throw ChildProcess.Failure(
                description: "cannot write \(path): \(String(cString: strerror(errno)))")
        }
        for text in texts { fputs("\(prefix)\(text)\n", file) }
        guard fclose(file) == 0 else {
            throw ChildProcess.Failure(
                description: "cannot write \(path): \(String(cString: strerror(errno)))")
        }
    }

    private static func text(_ address: UInt32) -> String {
        "\(address >> 24).\(address >> 16 & 255).\(address >> 8 & 255).\(address & 255)"
    }
}
