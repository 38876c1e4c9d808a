// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Duel
import RoutingModel

/// The plain C table, filled with the same prefixes.
final class DirectTable {
    private let table: OpaquePointer

    init(_ entries: [PrefixEntry<UInt32>]) throws {
        guard let table = baseline_direct_new() else { throw BaselineFailure.noMemory(for: "a direct table") }
        self.table = table
        for entry in entries.sorted(by: { $0.length < $1.length }) {
            guard baseline_direct_add(table, entry.key, UInt32(entry.length), entry.value) else {
                throw BaselineFailure.noMemory(for: "a direct table")
            }
        }
    }

    deinit {
        baseline_direct_free(table)
    }

    /// Looks addresses up and returns how many had a prefix.
    func count(_ keys: ArraySlice<UInt32>) -> Int64 {
        keys.withUnsafeBufferPointer { keys in
            keys.baseAddress.map { baseline_direct_count(table, $0, Int64(keys.count)) } ?? 0
        }
    }
}
