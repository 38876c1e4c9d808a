// SPDX-License-Identifier: Apache-2.0

/// A value on the heap.
///
/// The value that contains the box stays small, and a copy costs one reference count.
///
/// The type of the value has no requirements: to create the type of the box, the runtime would look them up by a
/// search through all conformances of the program.
package final class Box<Value> {
    /// The value.
    package let value: Value

    /// Moves a value to the heap.
    package init(_ value: Value) {
        self.value = value
    }
}

extension Box: Sendable where Value: Sendable {}

extension Box: Equatable where Value: Equatable {
    package static func == (one: Box, other: Box) -> Bool {
        one === other || one.value == other.value
    }
}

extension Box: Hashable where Value: Hashable {
    package func hash(into hasher: inout Hasher) {
        hasher.combine(value)
    }
}

/// Encoded as the value.
extension Box: Codable where Value: Codable {
    package convenience init(from decoder: any Decoder) throws {
        self.init(try Value(from: decoder))
    }

    package func encode(to encoder: any Encoder) throws {
        try value.encode(to: encoder)
    }
}
