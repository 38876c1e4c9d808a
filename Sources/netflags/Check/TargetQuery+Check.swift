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

    /// Evaluates targets: together, as far as brief reports are enough.
    ///
    /// - Parameters:
    ///   - targets: The targets.
    ///   - source: The source of facts; `nil` when no netlink socket can be opened: then each target has the error.
    /// - Returns: The results, in the order of the targets.
    func reports(on targets: [ReachabilityTarget], _ source: NetworkSource?) -> [PendingReports.Report] {
        if let source, !explains { return source.briefReports(on: targets, options: options) }
        return targets.map { target in
            Result { () throws(ReachabilityError) in
                try NetworkReachability(target: target, options: options, source: source)
                    .report(explains ? .full : .brief)
            }
        }
    }
}
