// SPDX-License-Identifier: Apache-2.0

/// A value of a D-Bus message or of JSON.
///
/// A variant is the value that it has. A key of JSON with `null` is as one that is missing.
enum BusValue: Hashable {
    case text(String)
    case number(Int64)
    case bytes([UInt8])
    case list([BusValue])
    case dictionary([String: BusValue])
    /// A value that no reader uses: a descriptor or a real number.
    case other

    var text: String? { if case .text(let text) = self { text } else { nil } }
    var number: Int64? { if case .number(let number) = self { number } else { nil } }
    var list: [BusValue]? { if case .list(let list) = self { list } else { nil } }
    var dictionary: [String: BusValue]? { if case .dictionary(let values) = self { values } else { nil } }

    /// Bytes; JSON has them as a list of numbers.
    var bytes: [UInt8]? {
        if case .bytes(let bytes) = self { return bytes }
        let bytes = list?.compactMap { $0.number.flatMap { UInt8(exactly: $0) } }
        return bytes?.count == list?.count ? bytes : nil
    }

    /// The value of a key.
    subscript(key: String) -> BusValue? { dictionary?[key] }
}

extension BusValue: Decodable {
    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let number = try? value.decode(Int64.self) {
            self = .number(number)
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let list = try? value.decode([BusValue].self) {
            self = .list(list)
        } else if let values = try? value.decode([String: BusValue?].self) {
            self = .dictionary(values.compactMapValues(\.self))
        } else if let isTrue = try? value.decode(Bool.self) {
            self = .number(isTrue ? 1 : 0)
        } else {
            self = .other
        }
    }
}
