// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The latest flags of a started handle, readable without a lock.
struct CurrentFlags: ~Copyable, Sendable {
    /// Apple's bits, and one bit above them that is set if there are flags.
    private let bits = Atomic<UInt64>(0)
    private static let isKnown: UInt64 = 1 << 32

    var value: ReachabilityFlags? {
        let bits = bits.load(ordering: .acquiring)
        return bits & Self.isKnown == 0 ? nil : ReachabilityFlags(rawValue: UInt32(truncatingIfNeeded: bits))
    }

    func store(_ flags: ReachabilityFlags?) {
        bits.store(flags.map { UInt64($0.rawValue) | Self.isKnown } ?? 0, ordering: .releasing)
    }
}
