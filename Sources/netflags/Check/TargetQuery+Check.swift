// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

extension TargetQuery {
    /// Evaluates the targets and writes the results to standard output.
    func check() throws(UsageError) -> ExitStatus {
        let operands = try operands()
        let source: NetworkSource?
        do {
            source = try NetworkSource.recorded(recording) ?? (try? .kernel())
        } catch {
            printError("\(error)")
            return .undetermined
        }
        if isQuiet { return try run(operands, source, QuietFormat()) }
        return switch format {
        case .text: try run(operands, source, TextFormat(self, for: .standard))
        case .json: try run(operands, source, JSONFormat(explains: explains))
        case .prometheus: try run(operands, source, PrometheusFormat())
        }
    }

    private func run(
        _ operands: [Operand],
        _ source: NetworkSource?,
        _ format: some LineFormat
    ) throws(UsageError) -> ExitStatus {
        var run = CheckRun(query: self, source: source, format: format)
        return try run.run(operands)
    }
}
