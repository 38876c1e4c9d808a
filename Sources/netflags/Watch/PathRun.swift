// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import NetlinkReachability
import SystemSupport

/// A run of `netflags path --watch`: writes a line for the path now and at each change.
final class PathRun: Sendable {
    /// The pause before a monitor that could not be started is tried again, in milliseconds.
    private static let retryPause: Int32 = 5_000

    private struct State {
        /// `nil` for JSON.
        var format: PathLineFormat?
        var buffer = ByteBuffer()
        /// The error of the last line; `nil` after a path.
        var lastError: ReachabilityError?
    }

    private let options: ReachabilityOptions
    private let queue = DispatchQueue(label: "netflags.path")
    private let state: Locked<State>

    init(_ options: ReachabilityOptions, json: Bool) {
        self.options = options
        state = Locked(State(format: json ? nil : PathLineFormat(for: .standard)))
    }

    /// Watches until a signal comes or the reader of the output is gone, which end the process.
    ///
    /// - Throws: A failure when standard output is closed from the beginning; an error when netlink is refused from
    ///   the beginning.
    func run() throws -> Never {
        if Output.standard.wasClosed { throw Output.Failure(number: EBADF) }
        try Signals.endProcess()
        let monitor = NetworkPathMonitor(options: options)
        defer { monitor.cancel() }
        var (isStarted, isFirst) = (false, true)
        while true {
            if !isStarted {
                do {
                    try monitor.startObserving(queue: queue) { self.write($0) }
                    isStarted = true
                } catch {
                    if isFirst, error.isRefusal { throw error }
                    write(.failure(error))
                }
                isFirst = false
            }
            // Without events, poll(2) reports only that the other end is closed.
            var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
            if poll(&output, 1, isStarted ? -1 : Self.retryPause) > 0 { Glibc.exit(128 + SIGPIPE) }
        }
    }

    /// Writes a line; the process ends when the output cannot be written.
    private func write(_ result: Result<PathVerdict, ReachabilityError>) {
        let isWritten = state.withLock { state in
            if case .failure(let error) = result {
                guard error != state.lastError else { return true }
                state.lastError = error
                if !Output.standard.isTerminal { printError("\(error)") }
            } else {
                state.lastError = nil
            }
            if state.format == nil { PathFormat.writeJSON(result, at: .now, to: &state.buffer) }
            state.format?.write(result, at: .now, to: &state.buffer)
            return Output.standard.deliver(&state.buffer)
        }
        if !isWritten { ExitStatus.undetermined.exit() }
    }
}
