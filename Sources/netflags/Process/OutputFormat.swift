// SPDX-License-Identifier: Apache-2.0

import NetlinkPlanning

/// The formats of a command that has --json and --format.
protocol OutputFormat: RawRepresentable<String>, Equatable {
    static var text: Self { get }
    static var json: Self { get }
}

extension OutputFormat {
    /// The format that --format or --json gives; text without both.
    ///
    /// - Throws: A usage error for two of them.
    static func chosen(_ format: Self?, json: Bool) throws(UsageError) -> Self {
        if json, let format, format != .json {
            throw UsageError("--json and --format \(format.rawValue) exclude each other: give one")
        }
        return json ? .json : format ?? .text
    }
}
