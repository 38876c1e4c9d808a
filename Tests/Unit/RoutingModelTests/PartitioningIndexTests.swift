// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import Testing

struct PartitioningIndexTests {
    @Test(arguments: [[], [3], [1, 3, 3, 5], [2, 4, 6, 8, 10]])
    func `the index is that of a search from the start`(numbers: [Int]) {
        for limit in 0...11 {
            let expected = numbers.firstIndex { $0 >= limit } ?? numbers.count
            #expect(numbers.partitioningIndex { $0 >= limit } == expected, "\(limit)")
        }
    }
}
