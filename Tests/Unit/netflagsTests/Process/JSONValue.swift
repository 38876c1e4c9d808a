// SPDX-License-Identifier: Apache-2.0

/// A JSON value, and a strict reader of RFC 8259 that checks the program's output.
enum JSONValue: Equatable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([Member])

    struct Member: Equatable {
        let key: String
        let value: JSONValue
    }

    /// Reads a text that holds one value; `nil` when it is malformed.
    init?(_ text: some StringProtocol) {
        var reader = Reader(bytes: Array(text.utf8))
        guard let value = reader.value(), reader.isAtEnd else { return nil }
        self = value
    }

    /// The keys of an object, in order.
    var keys: [String] {
        if case .object(let members) = self { members.map(\.key) } else { [] }
    }

    /// The elements of an array.
    var elements: [JSONValue] {
        if case .array(let elements) = self { elements } else { [] }
    }

    var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    var number: Double? {
        if case .number(let number) = self { number } else { nil }
    }

    subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }
}

extension JSONValue {
    private struct Reader {
        let bytes: [UInt8]
        var place = 0

        var isAtEnd: Bool { place == bytes.count }

        private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

        private mutating func take(_ text: StaticString) -> Bool {
            let wanted = text.withUTF8Buffer { Array($0) }
            guard bytes[place...].starts(with: wanted) else { return false }
            place += wanted.count
            return true
        }

        mutating func value() -> JSONValue? {
            switch next {
            case UInt8(ascii: "n"): take("null") ? .null : nil
            case UInt8(ascii: "t"): take("true") ? .bool(true) : nil
            case UInt8(ascii: "f"): take("false") ? .bool(false) : nil
            case UInt8(ascii: "\""): string().map { .string($0) }
            case UInt8(ascii: "["): array()
            case UInt8(ascii: "{"): object()
            default: number()
            }
        }

        private mutating func number() -> JSONValue? {
            let start = place
            while let byte = next, "+-.eE0123456789".utf8.contains(byte) { place += 1 }
            return Double(String(decoding: bytes[start..<place], as: UTF8.self)).map { .number($0) }
        }

        private mutating func array() -> JSONValue? {
            guard take("[") else { return nil }
            var elements: [JSONValue] = []
            if take("]") { return .array(elements) }
            repeat {
                guard let element = value() else { return nil }
                elements.append(element)
            } while take(",")
            return take("]") ? .array(elements) : nil
        }

        private mutating func object() -> JSONValue? {
            guard take("{") else { return nil }
            var members: [Member] = []
            if take("}") { return .object(members) }
            repeat {
                guard let key = string(), take(":"), let value = value(),
                    !members.contains(where: { $0.key == key })
                else { return nil }
                members.append(Member(key: key, value: value))
            } while take(",")
            return take("}") ? .object(members) : nil
        }

        private mutating func string() -> String? {
            guard take("\"") else { return nil }
            var text: [UInt8] = []
            while let byte = next, byte >= 0x20 {
                place += 1
                switch byte {
                case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
                case UInt8(ascii: "\\"):
                    guard let unescaped = escape() else { return nil }
                    text += unescaped
                default: text.append(byte)
                }
            }
            return nil
        }

        private mutating func escape() -> [UInt8]? {
            let simple: [UInt8: UInt8] = [0x22: 0x22, 0x5C: 0x5C, 0x6E: 0x0A, 0x72: 0x0D, 0x74: 0x09]
            guard let byte = next else { return nil }
            place += 1
            if let plain = simple[byte] { return [plain] }
            guard byte == UInt8(ascii: "u"), place + 4 <= bytes.count else { return nil }
            let digits = String(decoding: bytes[place..<place + 4], as: UTF8.self)
            place += 4
            return UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init).map { Array(String($0).utf8) }
        }
    }
}

extension JSONValue {
    /// The seconds from this time to another one of less than half a day before or after, both in RFC 3339.
    func seconds(to later: JSONValue) -> Double {
        let difference = later.secondOfDay - secondOfDay
        return difference < -43_200 ? difference + 86_400 : difference
    }

    private var secondOfDay: Double {
        let digits = (string ?? "").dropFirst(11).dropLast().split(separator: ":")
        return digits.reduce(0) { $0 * 60 + (Double($1) ?? 0) }
    }
}
