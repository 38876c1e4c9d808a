// SPDX-License-Identifier: Apache-2.0

/// XML 1.0, written from front to back.
extension ByteBuffer {
    /// Writes an element that contains text alone.
    ///
    /// - Parameters:
    ///   - name: The name of the element.
    ///   - attributes: Its attributes as they are written.
    ///   - text: The text, which is escaped.
    ///   - newline: What is written behind the element.
    mutating func element(_ name: String, _ attributes: String, text: String, newline: String = "\n") {
        append("<\(name)\(attributes.isEmpty ? "" : " ")\(attributes)>")
        append(escaped: text)
        append("</\(name)>\(newline)")
    }

    /// Writes a text of a picture at a place.
    mutating func text(
        _ text: String,
        _ x: Double,
        _ y: Double,
        _ attributes: String,
        newline: String = "\n"
    ) {
        let place = "x=\"\(Int(x.rounded()))\" y=\"\(Int(y.rounded()))\""
        element("text", place + (attributes.isEmpty ? "" : " ") + attributes, text: text, newline: newline)
    }

    /// Appends text with the characters escaped that mean something in XML, and without those that it cannot contain
    /// or that change the direction of what follows.
    private mutating func append(escaped text: String) {
        var plain = ByteBuffer()
        // The only other characters that XML 1.0 excludes.
        let excluded: Set<Unicode.Scalar> = ["\u{FFFE}", "\u{FFFF}"]
        let scalars = text.unicodeScalars.map { excluded.contains($0) ? "\u{FFFD}" : $0 }
        plain.append(printable: String(String.UnicodeScalarView(scalars)))
        for byte in plain.bytes {
            switch byte {
            case UInt8(ascii: "<"): append("&lt;")
            case UInt8(ascii: ">"): append("&gt;")
            case UInt8(ascii: "&"): append("&amp;")
            case UInt8(ascii: "\""): append("&quot;")
            default: append(byte)
            }
        }
    }
}
