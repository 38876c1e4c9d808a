// SPDX-License-Identifier: Apache-2.0

import CCommandLine
import SystemSupport

/// UTF-8 text that is being formatted.
struct ByteBuffer: Hashable, Sendable {
    private(set) var bytes: [UInt8] = []

    /// Removes the text and keeps the memory.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
    }

    mutating func append(_ byte: UInt8) {
        bytes.append(byte)
    }

    mutating func append(bytes others: some Collection<UInt8>) {
        bytes.append(contentsOf: others)
    }

    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { bytes.append(contentsOf: $0) }
    }

    mutating func append(spaces count: Int) {
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: max(0, count)))
    }

    /// Appends a line of text for people, as ``append(printable:)`` does.
    mutating func line(printable text: String) {
        append(printable: text)
        append("\n")
    }

    /// Appends text for people, with replacement characters for characters that a terminal would interpret, and with
    /// escapes for bytes of file names that are not UTF-8.
    ///
    /// - Returns: The number of columns.
    @discardableResult
    mutating func append(printable text: String) -> Int {
        var text = text
        let isPlain = text.withUTF8 { utf8 in
            // This loop has no branch for each byte: `&-` wraps bytes below a space to large numbers.
            var special: UInt8 = 0
            for byte in utf8 { special |= byte &- 0x20 > 0x5E ? 1 : 0 }
            if special == 0 { bytes.append(contentsOf: utf8) }
            return special == 0
        }
        if isPlain { return text.utf8.count }
        var count = 0
        for scalar in text.showingFileNameBytes.unicodeScalars {
            let shown = scalar.disturbsTerminal ? "\u{FFFD}" : scalar
            append(String(shown))
            count += shown.columns
        }
        return count
    }
}

extension Unicode.Scalar {
    /// Whether the character moves, hides or reverses the text around it.
    fileprivate var disturbsTerminal: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

extension String {
    /// The width of the text on a terminal, without line breaks and control characters; colours have no width.
    var columns: Int {
        var (columns, isInColour) = (0, false)
        for scalar in unicodeScalars {
            if scalar == "\u{1B}" { isInColour = true }
            if !isInColour { columns += scalar.columns }
            if scalar == "m" { isInColour = false }
        }
        return columns
    }
}

extension Unicode.Scalar {
    /// The width of the character on a terminal: 0 for a combining character, 2 for a wide character.
    var columns: Int {
        isASCII ? 1 : Int(ccl_columns(value))
    }
}
