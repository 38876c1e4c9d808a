// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability

/// A run of `netflags check`: evaluates targets and writes a line for each, in their order.
struct CheckRun {
    private let query: TargetQuery
    private let writer: CheckWriter
    private var pending: PendingReports
    private var hasTargets = false

    /// - Parameters:
    ///   - query: The command line.
    ///   - source: The source of facts; `nil` when no netlink socket can be opened: then each target has the error.
    ///   - format: The format of the lines.
    init(query: TargetQuery, source: NetworkSource?, format: any LineFormat) {
        self.query = query
        pending = PendingReports { query.report(on: $0, source, $1) }
        writer = CheckWriter(format, repeatsErrors: !query.isQuiet && !Output.standard.isTerminal)
    }

    /// Evaluates all operands.
    ///
    /// - Throws: A usage error when standard input holds no target and there is no other.
    mutating func run(_ operands: [Operand]) throws(UsageError) -> ExitStatus {
        for operand in operands where !writer.hasFailed {
            switch operand {
            case .target(let text, let target): add(text, target)
            case .standardInput: addStandardInput()
            }
        }
        guard hasTargets || writer.status != .success else { throw .noTargets }
        takePending()
        writer.finish()
        return writer.status
    }

    // MARK: Targets

    /// Adds or starts a target.
    private mutating func add(_ text: String, _ target: ReachabilityTarget) {
        hasTargets = true
        pending.add(text, target)
        if pending.isFull { takePending() }
    }

    /// Evaluates each line.
    private mutating func addStandardInput() {
        var lines = TargetLines(descriptor: STDIN_FILENO)
        do {
            // Results known so far are written before a read that can block.
            while !writer.hasFailed,
                let line = try lines.next(beforeReading: {
                    takePending()
                    writer.flush()
                }), !writer.hasFailed
            {
                add(line)
            }
        } catch {
            printError(error.message)
            writer.status = .undetermined
        }
    }

    private mutating func add(_ line: TargetLines.Line) {
        let (text, target) = query.target(on: line)
        switch target {
        case .success(let target): add(text, target)
        case .failure(let error):
            pending.add(text, error)
            if pending.isFull { takePending() }
        }
    }

    /// Waits for all pending results and formats them.
    private mutating func takePending() {
        pending.takeAll(
            beforeWaiting: { [writer] in writer.flushLines() },
            { [writer] in writer.write($0) }
        )
        writer.flushLines()
    }
}

/// Formats results, and writes them to standard output.
private final class CheckWriter {
    /// Text is written when so many bytes of it are waiting.
    private static let limit = 32_768

    private var format: any LineFormat
    private var buffer = ByteBuffer()
    private let output = Output.standard
    /// Whether errors are printed on standard error too: not where the reader sees them in the lines.
    private let repeatsErrors: Bool
    var status = ExitStatus.success
    /// Whether the output cannot be written.
    private(set) var hasFailed = false

    init(_ format: any LineFormat, repeatsErrors: Bool) {
        self.format = format
        self.repeatsErrors = repeatsErrors
    }

    func write(_ line: TargetLine) {
        guard !hasFailed else { return }
        status = status.worse(line.exitStatus)
        if repeatsErrors, case .failure(let error) = line.outcome { printError("\(line.target): \(error)") }
        format.write(line, to: &buffer)
        if buffer.bytes.count > Self.limit { deliver() }
    }

    /// Writes the lines of a format that keeps none.
    func flushLines() {
        if format.isFlushedAtEachLine { deliver() }
    }

    /// Writes all lines.
    func flush() {
        format.flush(to: &buffer)
        deliver()
    }

    /// Writes all lines, and what follows the last one.
    func finish() {
        guard !hasFailed else { return }
        format.finish(&buffer)
        deliver()
    }

    private func deliver() {
        guard !hasFailed, !output.deliver(&buffer) else { return }
        hasFailed = true
        status = .undetermined
    }
}
