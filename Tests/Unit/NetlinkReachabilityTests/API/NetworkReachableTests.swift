// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import Testing

struct NetworkReachableTests {
    /// The combinations of R c C i D that mean yes.
    private static let yes: Set<UInt32> = [
        0x02, 0x0a, 0x12, 0x1a, 0x22, 0x2a, 0x32, 0x3a, 0x0e, 0x26, 0x2e,
    ]

    /// Every combination of the five bits that count.
    private static let combinations: [UInt32] = (0..<32).map { $0 << 1 }

    @Test(arguments: combinations) func `the decision over the five bits is the table's`(bits: UInt32) {
        #expect(isNetworkReachable(flags: ReachabilityFlags(rawValue: bits)) == Self.yes.contains(bits))
    }

    @Test func `eleven of thirty-two combinations mean yes`() {
        let yes = Self.combinations.filter { isNetworkReachable(flags: ReachabilityFlags(rawValue: $0)) }
        #expect(yes.count == 11)
    }

    @Test(arguments: combinations) func `no other bit matters`(bits: UInt32) {
        let expected = Self.yes.contains(bits)
        for other in (0..<32).map({ UInt32(1) << $0 }) + [UInt32.max] where other & 0x3e == 0 || other == .max
        {
            let flags = ReachabilityFlags(rawValue: bits | (other & ~0x3e))
            #expect(isNetworkReachable(flags: flags) == expected)
        }
    }
}
