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
        _ format: any LineFormat
    ) throws(UsageError) -> ExitStatus {
        var run = CheckRun(query: self, source: source, format: format)
        return try run.run(operands)
    }

    /// Evaluates targets: together, as far as brief reports are enough.
    ///
    /// - Parameters:
    ///   - targets: The targets.
    ///   - source: The source of facts; `nil` when no netlink socket can be opened: then each target has the error.
    ///   - body: Receives the results, in the order of the targets.
    func report(on targets: [ReachabilityTarget], _ source: NetworkSource?, _ body: (ReportOutcome) -> Void) {
        if let source, !explains { return source.briefReports(on: targets, options: options, body) }
        for target in targets {
            do {
                let handle = try NetworkReachability(target: target, options: options, source: source)
                body(.report(try handle.report(explains ? .full : .brief)))
            } catch {
                body(.failure(error))
            }
        }
    }
}
