// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkPlanning

/// The formats of a command that has --json and --format.
protocol OutputFormat: RawRepresentable<String>, CaseIterable, ExpressibleByArgument, Equatable {
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

    /// The parser reads these lists at each start; its own are made by key paths and reflection.
    static var allValueStrings: [String] { allCases.map { $0.rawValue } }
    static var allValueDescriptions: [String: String] { [:] }
}
