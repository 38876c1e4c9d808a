// SPDX-License-Identifier: Apache-2.0

extension Array {
    /// The index of the first element that belongs to the second of two parts, found by binary search.
    ///
    /// All elements of the first part must come before those of the second. The counterpart is the function of this
    /// name in swift-algorithms.
    ///
    /// - Parameter isInSecondPart: Whether an element belongs to the second part.
    /// - Returns: The index; the count if all elements belong to the first part.
    @inlinable
    package func partitioningIndex(where isInSecondPart: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isInSecondPart(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension Array where Element: Hashable {
    /// The elements in their order, without repetitions.
    package func withoutRepeats() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}

extension [String] {
    /// The word for a number of the kernel; `nil` if there is none.
    func word(_ number: some BinaryInteger) -> String? {
        number < count ? self[Int(number)] : nil
    }
}

extension Dictionary {
    /// Removes a member from the set at a key.
    ///
    /// If the set becomes empty, removes it too.
    @inlinable
    package mutating func remove<Member>(_ member: Member, at key: Key) where Value == Set<Member> {
        self[key]?.remove(member)
        if self[key]?.isEmpty ?? false { self[key] = nil }
    }
}
