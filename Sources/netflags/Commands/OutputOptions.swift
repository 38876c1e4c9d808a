// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The options that choose what answers look like.
struct OutputOptions: ParsableArguments {
    @Flag(help: "One JSON object a line, written as soon as it is known.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "text, json or prometheus (metrics for node_exporter's textfile collector).",
            valueName: "format"
        )
    )
    var format: CheckQuestion.Format?

    /// The format that both options together ask for.
    func chosen() throws(UsageFault) -> CheckQuestion.Format {
        guard json else { return format ?? .text }
        guard format == nil || format == .json else {
            throw UsageFault("--json and --format \(format?.rawValue ?? "") exclude each other: give one")
        }
        return .json
    }
}

extension CheckQuestion.Format: ExpressibleByArgument {}
