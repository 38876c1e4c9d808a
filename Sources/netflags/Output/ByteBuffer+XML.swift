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
        // The only other characters that XML 1.0 excludes.
        let excluded: Set<Unicode.Scalar> = ["\u{FFFE}", "\u{FFFF}"]
        let scalars = text.unicodeScalars.map { excluded.contains($0) ? "\u{FFFD}" : $0 }
        var plain = ByteBuffer()
        plain.append(printable: String(String.UnicodeScalarView(scalars)))
        append(String(decoding: plain.bytes, as: UTF8.self).escaped(Self.entities))
    }

    private static let entities: [UInt8: String] = [
        UInt8(ascii: "<"): "&lt;", UInt8(ascii: ">"): "&gt;", UInt8(ascii: "&"): "&amp;",
        UInt8(ascii: "\""): "&quot;",
    ]
}

extension String {
    /// The text with other texts in place of some ASCII characters.
    func escaped(_ escapes: [UInt8: String]) -> String {
        String(decoding: utf8.flatMap { escapes[$0].map { Array($0.utf8) } ?? [$0] }, as: UTF8.self)
    }
}
