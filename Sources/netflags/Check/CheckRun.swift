// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// A run of `netflags check`: evaluates targets and writes a line for each, in their order.
final class CheckRun {
    /// Text is written when so many bytes of it are waiting.
    private static let limit = 32_768

    /// Why the rest of the targets are left out: the output cannot be written.
    private struct OutputFailure: Error {}

    private let query: TargetQuery
    private let operands: [Operand]
    private var pending: PendingReports
    private var format: any LineFormat
    private var buffer = ByteBuffer()
    private let output = Output.standard
    /// Whether errors are printed on standard error too: not where the reader sees them in the lines.
    private let repeatsErrors: Bool
    private var status = ExitStatus.success
    private var hasTargets = false
    /// Whether the output cannot be written.
    private var hasFailed = false

    /// Parses the targets, and reads the recording if there is one.
    ///
    /// - Throws: ``UsageError`` for text that is not a target, ``ReachabilityError`` for a recording that cannot be
    ///   read.
    init(_ query: TargetQuery) throws {
        self.query = query
        operands = try query.operands()
        let recorded = try query.recording?.source()
        pending = PendingReports(query, recorded)
        repeatsErrors = !query.isQuiet && !output.isTerminal
        format =
            switch query.format {
            case _ where query.isQuiet: QuietFormat()
            case .text: TextFormat(query, for: output)
            case .json: JSONFormat(explains: query.explains)
            case .prometheus: PrometheusFormat()
            }
    }

    /// Evaluates all targets, and writes the results to standard output.
    ///
    /// - Throws: A usage error when standard input holds no target and there is no other.
    func run() throws -> ExitStatus {
        do {
            try query.forEachTarget(of: operands, beforeReading: writePending, onFailure: noteFailure, add)
        } catch is OutputFailure {}
        guard hasTargets || status != .success else { throw UsageError.noTargets }
        takePending()
        if !hasFailed {
            format.finish(&buffer)
            deliver()
        }
        return status
    }

    // MARK: Targets

    private func add(
        _ text: String,
        _ target: Result<ReachabilityTarget, ReachabilityError>
    ) throws(OutputFailure) {
        if hasFailed { throw OutputFailure() }
        hasTargets = true
        pending.add(text, target)
        if pending.isFull { takePending() }
    }

    /// Writes the results known so far, before a read that can block.
    private func writePending() throws(OutputFailure) {
        takePending()
        format.flush(to: &buffer)
        deliver()
        if hasFailed { throw OutputFailure() }
    }

    private func noteFailure(_ failure: TargetLines.Failure) {
        printError(failure.message)
        status = .undetermined
    }

    /// Waits for all pending results and formats them.
    private func takePending() {
        pending.takeAll(beforeWaiting: deliverLines, write)
        deliverLines()
    }

    // MARK: Lines

    private func write(_ line: TargetLine) {
        guard !hasFailed else { return }
        status = status.worse(line.exitStatus)
        if repeatsErrors, case .failure(let error) = line.outcome { printError("\(line.target): \(error)") }
        format.write(line, to: &buffer)
        if buffer.bytes.count > Self.limit { deliver() }
    }

    /// Writes the lines of a format that keeps none.
    private func deliverLines() {
        if format.isFlushedAtEachLine { deliver() }
    }

    private func deliver() {
        guard !hasFailed, !output.deliver(&buffer) else { return }
        hasFailed = true
        status = .undetermined
    }
}
