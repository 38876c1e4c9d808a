// SPDX-License-Identifier: Apache-2.0

/// A value of a D-Bus message.
///
/// A variant is the value that it has.
enum BusValue: Hashable {
    case text(String)
    case number(Int64)
    case bytes([UInt8])
    case list([BusValue])
    case dictionary([String: BusValue])
    /// A value that no reader here needs: a descriptor or a real number.
    case other

    var text: String? { if case .text(let text) = self { text } else { nil } }
    var number: Int64? { if case .number(let number) = self { number } else { nil } }
    var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
    var list: [BusValue]? { if case .list(let list) = self { list } else { nil } }
    var dictionary: [String: BusValue]? { if case .dictionary(let values) = self { values } else { nil } }

    /// The value of a key.
    subscript(key: String) -> BusValue? { dictionary?[key] }
}
