// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability

/// A run of `netflags check`: evaluates targets and writes a line for each, in their order.
struct CheckRun<Format: LineFormat> {
    private let query: TargetQuery
    private var format: Format
    private var buffer = ByteBuffer()
    private var status = ExitStatus.success
    private var pending: PendingReports
    private var hasTargets = false
    private let output = Output.standard
    /// Whether errors are printed on standard error too: not where the reader sees them in the lines.
    private let repeatsErrors: Bool

    /// - Parameters:
    ///   - query: The command line.
    ///   - source: The source of facts; `nil` when no netlink socket can be opened: then each target has the error.
    ///   - format: The format of the lines.
    init(query: TargetQuery, source: NetworkSource?, format: Format) {
        self.query = query
        pending = PendingReports { query.reports(on: $0, source) }
        self.format = format
        repeatsErrors = !query.isQuiet && !output.isTerminal
    }

    /// Evaluates all operands.
    ///
    /// - Throws: A usage error when standard input holds no target and there is no other.
    mutating func run(_ operands: [Operand]) throws(UsageError) -> ExitStatus {
        for operand in operands {
            let isWritten =
                switch operand {
                case .target(let text, let target): add(text, target)
                case .standardInput: addStandardInput()
                }
            guard isWritten else { return status }
        }
        guard hasTargets || status != .success else { throw .noTargets }
        guard writePending() else { return status }
        format.finish(&buffer)
        _ = output.deliver(&buffer) ? nil : fail()
        return status
    }

    // MARK: Targets

    /// Adds or starts a target; returns false when the output cannot be written.
    private mutating func add(_ text: String, _ target: ReachabilityTarget) -> Bool {
        hasTargets = true
        pending.add(text, target)
        return !pending.isFull || writePending()
    }

    private mutating func add(_ line: TargetLine) -> Bool {
        pending.add(line)
        return !pending.isFull || writePending()
    }

    /// Evaluates each line; returns false when the output cannot be written.
    private mutating func addStandardInput() -> Bool {
        var lines = TargetLines(descriptor: STDIN_FILENO)
        var isWritten = true
        do {
            // Results known so far are written before a read that can block.
            while isWritten, let line = try lines.next(beforeReading: { isWritten = flush() }), isWritten {
                isWritten = add(line)
            }
        } catch {
            printError(error.message)
            status = .undetermined
        }
        return isWritten
    }

    private mutating func add(_ line: TargetLines.Line) -> Bool {
        let (text, target) = query.target(on: line)
        switch target {
        case .success(let target): return add(text, target)
        case .failure(let error): return add(TargetLine(target: text, result: .failure(error)))
        }
    }

    // MARK: Output

    /// Waits for all pending results and formats them; returns false when the output cannot be written.
    private mutating func writePending() -> Bool {
        while let line = pending.next() {
            guard write(line) else { return false }
        }
        return true
    }

    private mutating func write(_ line: TargetLine) -> Bool {
        status = status.worse(line.exitStatus)
        if repeatsErrors, case .failure(let error) = line.result { printError("\(line.target): \(error)") }
        format.write(line, to: &buffer)
        let isDue =
            (format.isFlushedAtEachLine && (pending.isEmpty || pending.isSlow)) || buffer.bytes.count > 32_768
        return !isDue || output.deliver(&buffer) || fail()
    }

    private mutating func flush() -> Bool {
        guard writePending() else { return false }
        format.flush(to: &buffer)
        return output.deliver(&buffer) || fail()
    }

    private mutating func fail() -> Bool {
        status = .undetermined
        return false
    }
}
