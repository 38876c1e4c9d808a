// SPDX-License-Identifier: Apache-2.0

import Dispatch
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
        try Output.standard.beginWatching()
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
            Output.standard.waitWhileRead(isStarted ? -1 : Self.retryPause)
        }
    }

    /// Writes a line; the process ends when the output cannot be written.
    private func write(_ result: Result<PathVerdict, ReachabilityError>) {
        state.withLock { state in
            let error = result.failure
            guard error == nil || error != state.lastError else { return }
            state.lastError = error
            if let error, !Output.standard.isTerminal { printError("\(error)") }
            if state.format == nil { PathFormat.writeJSON(result, at: .now, to: &state.buffer) }
            state.format?.write(result, at: .now, to: &state.buffer)
            Output.standard.deliverOrExit(&state.buffer)
        }
    }
}
