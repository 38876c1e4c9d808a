// SPDX-License-Identifier: Apache-2.0

/// Lines of tab-separated fields.
///
/// A backslash escapes the tabs, newlines and backslashes in a field.
package enum Fields {
    /// Splits a line into fields.
    package static func read(_ line: String) -> [String] {
        var fields = [""]
        var isHidden = false
        for character in line {
            switch (character, isHidden) {
            case ("\\", false):
                isHidden = true
                continue
            case ("\t", false): fields.append("")
            case ("t", true): fields[fields.count - 1].append("\t")
            case ("n", true): fields[fields.count - 1].append("\n")
            default: fields[fields.count - 1].append(character)
            }
            isHidden = false
        }
        return fields
    }

    /// Joins fields to a line, without a newline.
    package static func line(_ fields: [String]) -> String {
        fields.map(hidden).joined(separator: "\t")
    }

    private static func hidden(_ field: String) -> String {
        var text = ""
        for scalar in field.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\t": text += "\\t"
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
