// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// A run of `netflags check`: evaluates targets and writes a line for each, in their order.
final class CheckRun {
    private let query: TargetQuery
    private let operands: [Operand]
    private var pending: PendingReports
    /// `nil` for `--quiet`.
    private var format: (any LineFormat)?
    private var buffer = ByteBuffer()
    private let output = Output.standard
    /// Whether errors are printed on standard error too: not where the reader sees them in the lines.
    private let repeatsErrors: Bool
    private var status = ExitStatus.success
    private var hasTargets = false

    /// Parses the targets, and reads the recording if there is one.
    ///
    /// - Throws: ``UsageError`` for text that is not a target, ``ReachabilityError`` for a recording that cannot be
    ///   read.
    init(_ query: TargetQuery) throws {
        self.query = query
        operands = try query.operands()
        pending = PendingReports(query, try query.recording?.source() ?? .kernel)
        repeatsErrors = !query.isQuiet && !output.isTerminal
        format =
            switch query.format {
            case _ where query.isQuiet: nil
            case .text: TextFormat(query, isTimed: false, for: output)
            case .json: JSONFormat(explains: query.explains)
            case .prometheus: PrometheusFormat()
            }
    }

    /// Evaluates all targets, and writes the results to standard output.
    ///
    /// - Throws: A usage error when standard input holds no target and there is no other; a failure when the output
    ///   cannot be written.
    func run() throws -> ExitStatus {
        try query.forEachTarget(of: operands, beforeReading: writePending, onFailure: noteFailure, add)
        guard hasTargets || status != .success else { throw UsageError.noTargets }
        try writePending()
        return status
    }

    private func add(_ text: String, _ target: Result<ReachabilityTarget, ReachabilityError>) throws {
        hasTargets = true
        pending.add(text, target)
        if pending.isFull { try takePending() }
    }

    /// Writes the results known so far: before a read that can block, and at the end.
    private func writePending() throws {
        try takePending()
        format?.flush(to: &buffer)
        try output.deliver(&buffer)
    }

    private func noteFailure(_ failure: FileFailure) {
        printError("\(failure)")
        status = .undetermined
    }

    /// Waits for all pending results and formats them; writes the lines before it waits for a name.
    private func takePending() throws {
        try pending.takeAll(beforeWaiting: { try output.deliver(&buffer) }, write)
        try output.deliver(&buffer)
    }

    private func write(_ line: TargetLine) {
        status = status.worse(line.exitStatus)
        if repeatsErrors, let error = line.outcome?.failure?.description ?? line.mistake {
            printError("\(line.target): \(error)")
        }
        format?.write(line, to: &buffer)
    }
}
