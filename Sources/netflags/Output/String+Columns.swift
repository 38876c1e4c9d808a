// SPDX-License-Identifier: Apache-2.0

import CCommandLine

extension String {
    /// The columns that a terminal shows the text in, without line breaks and control characters; colours take none.
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
    /// The columns that a terminal shows the character in: 0 for a combining one, 2 for a wide one.
    var columns: Int {
        isASCII ? 1 : Int(ccl_columns(value))
    }
}
