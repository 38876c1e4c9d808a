// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import SystemSupport

/// A value that JSON writes without members: a string, a number, a boolean, null, or an array of such values.
protocol JSONConvertible {
    /// Writes the value, without the comma before it.
    func writeJSON(to json: inout ByteBuffer)
}

/// JSON (RFC 8259), written from front to back.
///
/// A comma is inserted before each key or value that follows another value.
extension ByteBuffer {
    /// Writes an object on a line of its own, as in JSON Lines.
    mutating func line(_ members: (inout ByteBuffer) -> Void) {
        object(members)
        append(UInt8(ascii: "\n"))
    }

    /// Writes an object whose members the body writes.
    mutating func object(_ members: (inout ByteBuffer) -> Void) {
        separate()
        append(UInt8(ascii: "{"))
        members(&self)
        append(UInt8(ascii: "}"))
    }

    /// Writes the name of a member, before its value.
    ///
    /// The name is not escaped.
    mutating func key(_ name: String) {
        separate()
        append(UInt8(ascii: "\""))
        append(name)
        append("\":")
    }

    /// Writes a member of the object; null for `nil`.
    mutating func member(_ name: String, _ value: some JSONConvertible) {
        key(name)
        value.writeJSON(to: &self)
    }

    /// Writes a member that is an object; null for `nil`.
    mutating func member<Value>(
        _ name: String,
        object value: Value?,
        _ members: (Value, inout ByteBuffer) -> Void
    ) {
        key(name)
        guard let value else { return append("null") }
        object { members(value, &$0) }
    }

    /// Writes a member that is an array of objects; null for `nil`.
    mutating func member<Value>(
        _ name: String,
        objects values: [Value]?,
        _ members: (Value, inout ByteBuffer) -> Void
    ) {
        key(name)
        guard let values else { return append("null") }
        append(UInt8(ascii: "["))
        for value in values { object { members(value, &$0) } }
        append(UInt8(ascii: "]"))
    }

    /// Writes the comma that the next key or value needs.
    mutating func separate() {
        switch bytes.last {
        case nil, UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"), UInt8(ascii: "\n"): break
        default: append(UInt8(ascii: ","))
        }
    }
}

// MARK: - Values

extension Optional: JSONConvertible where Wrapped: JSONConvertible {
    func writeJSON(to json: inout ByteBuffer) {
        if let self { self.writeJSON(to: &json) } else { json.append("null") }
    }
}

extension Array: JSONConvertible where Element: JSONConvertible {
    func writeJSON(to json: inout ByteBuffer) {
        json.append(UInt8(ascii: "["))
        for element in self {
            json.separate()
            element.writeJSON(to: &json)
        }
        json.append(UInt8(ascii: "]"))
    }
}

extension Bool: JSONConvertible {
    func writeJSON(to json: inout ByteBuffer) {
        json.append(self ? "true" : "false")
    }
}

extension JSONConvertible where Self: BinaryInteger {
    func writeJSON(to json: inout ByteBuffer) {
        json.append(String(self))
    }
}

extension Int: JSONConvertible {}
extension Int32: JSONConvertible {}
extension UInt16: JSONConvertible {}
extension UInt32: JSONConvertible {}
extension UInt64: JSONConvertible {}

extension Duration: JSONConvertible {
    /// Writes the seconds, with microseconds; the duration must not be negative.
    func writeJSON(to json: inout ByteBuffer) {
        let (seconds, attoseconds) = components
        let fraction = String(1_000_000 + attoseconds / 1_000_000_000_000).dropFirst()
        json.append("\(seconds).\(fraction)")
    }
}

extension IPAddress: JSONConvertible {
    /// Writes the address as a string.
    func writeJSON(to json: inout ByteBuffer) {
        description.writeJSON(to: &json)
    }
}

extension String: JSONConvertible {
    func writeJSON(to json: inout ByteBuffer) {
        json.append(UInt8(ascii: "\""))
        var text = self
        let isPlain = text.withUTF8 { utf8 in
            // This loop has no branch for each byte, as most strings need no escape.
            var special: UInt8 = 0
            for byte in utf8 { special |= byte.isPlain ? 0 : 1 }
            if special == 0 { json.append(bytes: utf8) }
            return special == 0
        }
        if !isPlain {
            var rest = Array(text.showingFileNameBytes.utf8)[...]
            while let byte = rest.popFirst() {
                // A control character of U+0080 to U+009F has two bytes.
                if byte == UInt8.controlLead, let next = rest.first, next < 0xA0 {
                    json.append("\\u00\(String(next, radix: 16))")
                    rest.removeFirst()
                } else {
                    json.append(escaped: byte)
                }
            }
        }
        json.append(UInt8(ascii: "\""))
    }
}

extension UInt8 {
    /// The first byte of U+0080 to U+00BF.
    fileprivate static let controlLead: UInt8 = 0xC2
    /// The first byte of the characters that represent bytes of file names that are not UTF-8.
    fileprivate static let fileNameLead: UInt8 = 0xF4

    /// Whether a byte of a string needs no escape, and begins no character that needs an escape.
    ///
    /// DEL and U+0080 to U+009F are escaped because terminals interpret them; RFC 8259 would allow them unescaped.
    fileprivate var isPlain: Bool {
        // `&-` wraps bytes below a space to large numbers.
        (self &- 0x20 < 0x5F || self > 0x7F) && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
            && self != Self.controlLead && self != Self.fileNameLead
    }
}

extension ByteBuffer {
    fileprivate mutating func append(escaped byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case UInt8(ascii: "\n"): append("\\n")
        case UInt8(ascii: "\r"): append("\\r")
        case UInt8(ascii: "\t"): append("\\t")
        case _ where byte.isPlain || byte > 0x7F: append(byte)
        default:
            append(byte < 0x10 ? "\\u000" : "\\u00")
            append(String(byte, radix: 16))
        }
    }
}
