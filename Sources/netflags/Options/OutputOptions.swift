// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The options of `check` that choose the format.
struct OutputOptions: ParsableArguments {
    @Flag(help: "One JSON object a line, written at once.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "text, json or prometheus (metrics for node_exporter's textfile collector).",
            valueName: "format"
        )
    )
    var format: TargetQuery.Format?

    @Flag(name: [.customShort("q"), .long], help: "No output, only the exit status.")
    var quiet = false

    /// The format that the options together ask for.
    func chosen() throws(UsageError) -> TargetQuery.Format {
        guard json else { return format ?? .text }
        guard format == nil || format == .json else {
            throw UsageError("--json and --format \(format?.rawValue ?? "") exclude each other: give one")
        }
        return .json
    }
}

extension TargetQuery.Format: ExpressibleByArgument {}
