// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The rules of one family, in the kernel's order: by priority, then in order of insertion.
///
/// The rules are stored in sorted chunks: inserting, removing and finding one does not visit all others.
struct RuleList: Sendable {
    /// Where a rule stands among the others; the number grows with each inserted rule.
    private typealias Place = (priority: UInt32, number: UInt64)

    private struct Entry {
        let place: Place
        let rule: Rule
    }

    /// Where a walk is: the next rule.
    struct Cursor: Comparable {
        fileprivate var chunk = 0
        fileprivate var offset = 0

        static func < (left: Cursor, right: Cursor) -> Bool {
            (left.chunk, left.offset) < (right.chunk, right.offset)
        }
    }

    /// The most rules of a chunk.
    static let chunkSize = 256

    /// None of them is empty.
    private var chunks: [[Entry]] = []
    private var numbers: [Rule: UInt64] = [:]
    private var nextNumber: UInt64 = 0

    /// How many there are.
    var count: Int { numbers.count }
    /// How many compare the source address.
    private(set) var countBySource = 0
    /// Whether there is none.
    var isEmpty: Bool { numbers.isEmpty }
    /// All of them.
    var all: [Rule] { chunks.flatMap { $0.map(\.rule) } }
    /// The first of a walk.
    var start: Cursor { Cursor() }

    /// How many rules each chunk has.
    var chunkCounts: [Int] { chunks.map(\.count) }

    /// Inserts a rule behind those of its priority, unless it is present.
    mutating func insert(_ rule: Rule) {
        guard numbers[rule] == nil else { return }
        if rule.source != nil { countBySource += 1 }
        let place = (rule.priority, nextNumber)
        numbers[rule] = nextNumber
        nextNumber += 1
        let entry = Entry(place: place, rule: rule)
        var cursor = cursor(at: place)
        // Behind all: the last chunk grows.
        if cursor.chunk == chunks.count, cursor.chunk > 0 {
            cursor = Cursor(chunk: cursor.chunk - 1, offset: chunks[cursor.chunk - 1].count)
        }
        guard cursor.chunk < chunks.count else {
            chunks.append([entry])
            return
        }
        chunks[cursor.chunk].insert(entry, at: cursor.offset)
        guard chunks[cursor.chunk].count > Self.chunkSize else { return }
        let half = chunks[cursor.chunk].count / 2
        let second = Array(chunks[cursor.chunk][half...])
        chunks[cursor.chunk].removeSubrange(half...)
        chunks.insert(second, at: cursor.chunk + 1)
    }

    /// Removes a rule.
    mutating func remove(_ rule: Rule) {
        guard let number = numbers.removeValue(forKey: rule) else { return }
        if rule.source != nil { countBySource -= 1 }
        let cursor = cursor(at: (rule.priority, number))
        chunks[cursor.chunk].remove(at: cursor.offset)
        if chunks[cursor.chunk].isEmpty { chunks.remove(at: cursor.chunk) }
    }

    /// The rule at a cursor, which moves on; `nil` behind the last.
    func next(_ cursor: inout Cursor) -> Rule? {
        guard cursor.chunk < chunks.count else { return nil }
        let chunk = chunks[cursor.chunk]
        let rule = chunk[cursor.offset].rule
        cursor.offset += 1
        if cursor.offset == chunk.count { cursor = Cursor(chunk: cursor.chunk + 1, offset: 0) }
        return rule
    }

    /// The first rule of a priority that is not before a cursor.
    func first(ofPriority priority: UInt32, from cursor: Cursor) -> Cursor? {
        let place = max(cursor, self.cursor(at: (priority, 0)))
        guard place.chunk < chunks.count else { return nil }
        return chunks[place.chunk][place.offset].place.priority == priority ? place : nil
    }

    /// The first entry that is not before a place.
    private func cursor(at place: Place) -> Cursor {
        let chunk = Self.count(of: chunks) { $0[$0.count - 1].place < place }
        guard chunk < chunks.count else { return Cursor(chunk: chunk, offset: 0) }
        return Cursor(chunk: chunk, offset: Self.count(of: chunks[chunk]) { $0.place < place })
    }

    /// How many elements at the front are before a place: the others are not.
    private static func count<Element>(of elements: [Element], before: (Element) -> Bool) -> Int {
        var (low, high) = (0, elements.count)
        while low < high {
            let middle = (low + high) / 2
            if before(elements[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
