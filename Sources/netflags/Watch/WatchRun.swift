// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability

/// A run of `netflags watch`: writes a line for each result of the monitor.
struct WatchRun {
    private let query: TargetQuery
    private let lines: WatchLines
    private let watcher: TargetWatcher
    /// Why no events are shown; `nil` where they are, or were not asked for.
    private let eventsError: ReachabilityError?

    init(_ query: TargetQuery, _ settings: WatchLines.Settings) throws(ReachabilityError) {
        let events = Result { () throws(ReachabilityError) in
            query.explains ? try WatchedEvents() : nil
        }
        let lines = WatchLines(query, settings, try? events.get())
        (self.query, self.lines, eventsError) = (query, lines, events.failure)
        watcher = try TargetWatcher(query.options, lines.detail, onChangeOf: lines.observed) {
            index, result in
            lines.write(result, of: index)
        }
        watcher.events = try? events.get()
    }

    /// Watches until a signal comes, the reader of the output is gone, or the settings end the run.
    ///
    /// - Throws: A usage error when standard input holds no target and there is no other; a failure when standard
    ///   output is closed from the beginning; an error when netlink is refused from the beginning.
    func run(_ operands: [Operand]) throws -> ExitStatus {
        try Output.standard.beginWatching()
        try query.forEachTarget(of: operands, beforeReading: waitForInput, add)
        guard lines.targetsAreComplete() else { throw UsageError.noTargets }
        if let eventsError { printError("the causes of changes are not shown: \(eventsError)") }
        if !lines.isOver { _ = wait() }
        lines.finish()
        return .success
    }

    private func add(_ text: String, _ target: Result<ReachabilityTarget, ReachabilityError>)
        throws(ReachabilityError)
    {
        let index = lines.addTarget(text)
        do {
            try watcher.add(try target.get(), at: index)
        } catch {
            if error.isRefusal, !watcher.hasStarted { throw error }
            watcher.handler(index, .failure(error))
        }
    }

    private func waitForInput() {
        guard !wait(orReadable: STDIN_FILENO) else { return }
        lines.finish()
        ExitStatus.success.exit()
    }

    /// Waits for an end of the run, or for input; returns whether there is input.
    ///
    /// A reader that is gone ends the process here.
    private func wait(orReadable descriptor: Int32 = -1) -> Bool {
        // Without events, poll(2) reports only that the other end is closed.
        let event = watcher.wait(for: [(STDOUT_FILENO, 0), (descriptor, POLLIN)])
        if event == 0 { endByClosedPipe() }
        return event == 1
    }
}
