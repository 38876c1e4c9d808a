// SPDX-License-Identifier: Apache-2.0

/// A value on the heap, so that the value that holds it stays small and is copied by one reference count.
package final class Box<Value: Hashable & Sendable>: Hashable, Sendable {
    /// The value.
    package let value: Value

    /// Moves a value to the heap.
    package init(_ value: Value) {
        self.value = value
    }

    package static func == (one: Box, other: Box) -> Bool {
        one === other || one.value == other.value
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(value)
    }
}
