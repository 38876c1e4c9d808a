// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import TestSupport
import Testing

@testable import NetlinkPlanning
@testable import RoutingSimulation

struct SmallestSetTests {
    @Test(arguments: [[0], [299], [3, 250], [7, 8, 9], [0, 100, 200, 299]])
    func `the elements that are needed are found among three hundred`(needed: [Int]) {
        let found = SmallestSet.find(among: Array(0..<300)) { Set($0).isSuperset(of: needed) }
        #expect(found.set?.sorted() == needed)
    }

    @Test func `no element is needed where the empty set has the property`() {
        #expect(SmallestSet.find(among: [1, 2, 3]) { _ in true }.set == [])
    }

    @Test func `nothing is found where no set has the property`() {
        #expect(SmallestSet.find(among: [1, 2, 3]) { _ in false }.set == nil)
    }

    @Test func `a single element is found even if the whole list does not have the property`() {
        #expect(SmallestSet.find(among: [1, 2, 3]) { $0 == [2] }.set == [2])
    }

    @Test func `no proper subset of the result has the property, whatever the property is`() {
        var numbers = SeededGenerator(seed: 5)
        for _ in 0..<200 {
            // Any set of subsets, which the whole list is in.
            let having = UInt64.random(in: 0...UInt64.max, using: &numbers) & ~1 | 1 << 63
            func hasProperty(_ set: [Int]) -> Bool {
                having >> UInt64(set.reduce(0) { $0 | 1 << $1 }) & 1 == 1
            }
            guard let found = SmallestSet.find(among: Array(0..<6), where: hasProperty).set else {
                Issue.record("nothing was found")
                continue
            }
            #expect(hasProperty(found))
            for bits in 0..<(1 << found.count) - 1 {
                let part = found.indices.filter { bits >> $0 & 1 == 1 }.map { found[$0] }
                #expect(!hasProperty(part), "\(part) of \(found)")
            }
        }
    }

    @Test func `all of two hundred elements are found to be needed before the search ends`() {
        let found = SmallestSet.find(among: Array(0..<200)) { $0.count == 200 }
        #expect(found.set?.count == 200)
        #expect(found.evaluations <= 400 && !found.isCut)
    }

    @Test func `a long list without the property costs few evaluations`() {
        let found = SmallestSet.find(among: Array(0..<3000)) { _ in false }
        #expect(found.set == nil)
        #expect(found.evaluations <= 66 && !found.isCut)
    }

    // Sets were evaluated one by one, and pairs of up to sixty-four elements: thousands of evaluations.
    @Test(arguments: [60, 400, 3000]) func `one of many elements is found with few evaluations`(count: Int) {
        let found = SmallestSet.find(among: Array(0..<count)) { $0.contains(count - 1) }
        #expect(found.set == [count - 1])
        #expect(found.evaluations <= 64 && !found.isCut)
    }

    @Test func `a search that ends early gives a set that has the property, and says so`() {
        let needed = Set(stride(from: 0, to: 3000, by: 10))
        let found = SmallestSet.find(among: Array(0..<3000)) { needed.isSubset(of: $0) }
        #expect(found.set.map { needed.isSubset(of: $0) } == true)
        #expect(found.isCut && found.evaluations == SmallestSet.evaluationLimit)
    }
}
