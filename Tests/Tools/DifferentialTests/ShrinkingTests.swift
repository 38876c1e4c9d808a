// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

struct ShrinkingTests {
    @Test func `only the steps that a difference needs are left`() {
        let smallest = Shrinking.smallest(Array(0..<20), steps: \.self, needsThreeAndTwelve)
        #expect(smallest == [3, 12])
    }

    @Test func `a difference is returned as it is when no time is left`() {
        let all = Array(0..<20)
        #expect(Shrinking.smallest(all, steps: \.self, limit: .zero, needsThreeAndTwelve) == all)
    }

    private func needsThreeAndTwelve(_ steps: [Int]) -> [Int]? {
        steps.contains(3) && steps.contains(12) ? steps : nil
    }
}
