// SPDX-License-Identifier: Apache-2.0

import NetlinkPlanning
import NetlinkRecording

/// Parses the values of options; each error says what to give instead.
enum OptionValue {
    /// A command for a shell.
    static func command(_ text: String) throws -> String {
        guard text.contains(where: { !$0.isWhitespace }) else {
            throw UsageError("the command is empty: give one such as ./sync")
        }
        return text
    }

    /// A time in seconds, with or without a fraction.
    static func seconds(_ text: String) throws -> Duration {
        guard let seconds = Double(text), (0...31_536_000).contains(seconds) else {
            throw UsageError(
                "\"\(text)\" is not a time: give seconds from 0 to 31536000 (a year), such as 5 or 0.5")
        }
        return .seconds(seconds)
    }

    /// A size in bytes, such as `64M`, of at least a megabyte.
    static func size(_ text: String) throws -> UInt64 {
        let units: [Character: UInt64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40]
        let unit = text.last.flatMap { units[Character($0.uppercased())] }
        let digits = unit == nil ? text[...] : text.dropLast()
        let range = UInt64(1 << 20)...UInt64(1 << 50)
        guard digits.allSatisfy(\.isNumber), let number = UInt64(digits),
            case let size = number.multipliedReportingOverflow(by: unit ?? 1), !size.overflow,
            range.contains(size.partialValue)
        else {
            throw UsageError("\"\(text)\" is not a size: give one from 1M to 1024T, such as 64M")
        }
        return size.partialValue
    }
}
