// SPDX-License-Identifier: Apache-2.0

/// JSON (RFC 8259), written from front to back.
///
/// A comma is inserted before anything that follows a value.
extension ByteBuffer {
    /// Writes an object whose members the body writes.
    mutating func object(_ body: (inout ByteBuffer) -> Void) {
        separate()
        append(UInt8(ascii: "{"))
        body(&self)
        append(UInt8(ascii: "}"))
    }

    /// Writes an array whose elements the body writes.
    mutating func array(_ body: (inout ByteBuffer) -> Void) {
        separate()
        append(UInt8(ascii: "["))
        body(&self)
        append(UInt8(ascii: "]"))
    }

    /// Writes an array of strings.
    mutating func array(_ values: [String]) {
        array { json in
            for value in values { json.value(value) }
        }
    }

    /// Writes the name of the member whose value comes next.
    ///
    /// The name is not escaped.
    mutating func key(_ name: StaticString) {
        separate()
        append(UInt8(ascii: "\""))
        append(name)
        append("\":" as StaticString)
    }

    mutating func null() {
        separate()
        append("null" as StaticString)
    }

    mutating func value(_ value: Bool?) {
        guard let value else { return null() }
        separate()
        append(value ? "true" : "false" as StaticString)
    }

    mutating func value(_ value: some BinaryInteger) {
        separate()
        append(String(value))
    }

    mutating func value(_ value: String?) {
        guard let value else { return null() }
        separate()
        append(UInt8(ascii: "\""))
        if value.utf8.allSatisfy(Self.isPlain) {
            append(value)
        } else {
            for byte in value.utf8 { append(escaped: byte) }
        }
        append(UInt8(ascii: "\""))
    }

    /// Writes the comma that the next key or value needs.
    mutating func separate() {
        switch bytes.last {
        case nil, UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"), UInt8(ascii: "\n"): break
        default: append(UInt8(ascii: ","))
        }
    }

    /// Whether a byte of a string needs no escape.
    ///
    /// DEL is escaped for the sake of terminals; RFC 8259 would allow it.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") && byte != 0x7F
    }

    private mutating func append(escaped byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"" as StaticString)
        case UInt8(ascii: "\\"): append("\\\\" as StaticString)
        case UInt8(ascii: "\n"): append("\\n" as StaticString)
        case UInt8(ascii: "\r"): append("\\r" as StaticString)
        case UInt8(ascii: "\t"): append("\\t" as StaticString)
        case _ where Self.isPlain(byte): append(byte)
        default:
            append("\\u00" as StaticString)
            append(hexadecimalDigit: byte >> 4)
            append(hexadecimalDigit: byte & 0xF)
        }
    }

    private mutating func append(hexadecimalDigit digit: UInt8) {
        append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
    }
}
