// SPDX-License-Identifier: Apache-2.0

/// Elements of XML 1.0.
enum XML {
    /// An element that contains text alone.
    ///
    /// - Parameters:
    ///   - name: The name of the element.
    ///   - attributes: Its attributes as they are written.
    ///   - text: The text, which is escaped.
    /// - Returns: The element.
    static func element(_ name: String, _ attributes: String, _ text: String) -> String {
        "<\(name)\(attributes.isEmpty ? "" : " ")\(attributes)>\(escaped(text))</\(name)>"
    }

    /// A text of a picture at a place.
    static func text(_ text: String, _ x: Double, _ y: Double, _ attributes: String) -> String {
        let place = "x=\"\(Int(x.rounded()))\" y=\"\(Int(y.rounded()))\""
        return element("text", place + (attributes.isEmpty ? "" : " ") + attributes, text)
    }

    /// The text with the characters escaped that mean something in XML, and without those that it cannot contain or
    /// that change the direction of what follows.
    private static func escaped(_ text: String) -> String {
        // The only other characters that XML 1.0 excludes.
        let excluded: Set<Unicode.Scalar> = ["\u{FFFE}", "\u{FFFF}"]
        let scalars = text.unicodeScalars.map { excluded.contains($0) ? "\u{FFFD}" : $0 }
        var plain = ByteBuffer()
        plain.append(printable: String(String.UnicodeScalarView(scalars)))
        return String(decoding: plain.bytes, as: UTF8.self).escaped(entities)
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
