// SPDX-License-Identifier: Apache-2.0

import NetlinkRecording

/// Parses the values of options; each error contains a correct form.
enum OptionValue {
    /// A command for a shell.
    static func command(_ text: String) throws -> String {
        try UsageError.require(
            text.contains(where: { !$0.isWhitespace }), "the command is empty: give one such as ./sync")
        return text
    }

    /// A time with an optional fraction and an optional unit; seconds without a unit.
    static func duration(_ text: String) throws -> Duration {
        let units: [Substring: Double] = ["": 1, "ms": 0.001, "s": 1, "m": 60, "h": 3_600]
        let (digits, unit) = split(text)
        guard let number = Double(digits), let factor = units[unit],
            case let seconds = number * factor, (0...31_536_000).contains(seconds)
        else {
            throw UsageError(
                "\"\(text)\" is not a time: give seconds from 0 to 31536000 (a year), such as 5 or 0.5, "
                    + "or a unit, such as 500ms, 30s, 5m or 2h")
        }
        return .seconds(seconds)
    }

    /// A size of at least a mebibyte, with an optional unit; bytes without a unit.
    ///
    /// The units are those of the GNU programs: `M` and `MiB` are 1,048,576 bytes, `MB` is 1,000,000.
    static func size(_ text: String) throws -> UInt64 {
        let units: [String: UInt64] = [
            "": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40,
            "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40,
            "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000,
        ]
        let (digits, unit) = split(text)
        let range = UInt64(1 << 20)...UInt64(1 << 50)
        guard digits.allSatisfy(\.isNumber), let number = UInt64(digits),
            let factor = units[unit.uppercased()],
            case let size = number.multipliedReportingOverflow(by: factor), !size.overflow,
            range.contains(size.partialValue)
        else {
            throw UsageError("\"\(text)\" is not a size: give one from 1M to 1024T, such as 64M or 64MB")
        }
        return size.partialValue
    }

    /// A number, and the letters of its unit.
    private static func split(_ text: String) -> (number: Substring, unit: Substring) {
        let start = text.lastIndex { !$0.isLetter }.map(text.index(after:)) ?? text.startIndex
        return (text[..<start], text[start...])
    }
}
