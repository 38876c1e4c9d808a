// SPDX-License-Identifier: Apache-2.0

/// Lines of fields with tabs between them.
///
/// A backslash hides the tabs, newlines and backslashes of a field.
package enum Fields {
    /// Takes a line apart.
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

    /// Makes a line, without its end.
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
