// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import NetlinkReachability
import RoutingModel

/// `netflags watch` at work: a started handle for each target, and a thread that waits for the end.
///
/// A line has the very flags that the handle told, so that no line repeats the one before, and the last one
/// stays true until the next. The rest of the line is asked for at that moment, and given only where it agrees.
final class WatchRun {
    /// Handles that could not be started, because the host is out of something, are tried again this often.
    private static let retryPause: Int32 = 5_000
    /// Names are resolved once more for their lines; so many at a time, so that a slow one holds up few.
    private static let namesAtATime = 8

    /// What is watched, and where its handler is called.
    private struct Watched {
        let text: String
        let handle: NetworkReachability
        let queue: DispatchQueue
    }

    private let question: CheckQuestion
    private let interruption: Interruption
    private let lines: WatchLines
    private let source = try? NetworkSource.kernel()
    private let addresses = DispatchQueue(label: "netflags.watch")
    private let names = (0..<namesAtATime).map { DispatchQueue(label: "netflags.watch.names.\($0)") }
    /// Those that are watched: a handle stops when it is released.
    private var started: [Watched] = []
    /// Those to be tried again.
    private var failed: [Watched] = []

    init(_ question: CheckQuestion, interruption: Interruption) {
        self.question = question
        self.interruption = interruption
        lines = WatchLines(question)
    }

    /// Watches until a signal comes or the reader of the output has gone.
    func run(_ places: [CheckQuestion.Place]) -> ExitStatus {
        for place in places {
            switch place {
            case .target(let text, let target): watch(text, target)
            case .standardInput: watchStandardInput()
            }
        }
        while !isOver(orReadable: nil, timeout: failed.isEmpty ? -1 : Self.retryPause) {
            retry()
        }
        return end()
    }

    // MARK: Targets

    private func watch(_ text: String, _ target: ReachabilityTarget) {
        do {
            let handle = try NetworkReachability(target: target, options: question.options, source: source)
            let queue = target.isName ? names[started.count % names.count] : addresses
            let watched = Watched(text: text, handle: handle, queue: queue)
            do {
                try start(watched)
                started.append(watched)
            } catch {
                failed.append(watched)
                throw error
            }
        } catch {
            lines.write(Answer(target: text, outcome: .failure("\(error)"), time: .now))
        }
    }

    private func start(_ watched: Watched) throws(ReachabilityError) {
        let (lines, text) = (lines, watched.text)
        try watched.handle.start(queue: watched.queue) { [weak handle = watched.handle] flags in
            guard let handle else { return }
            lines.write(flags, of: text, handle)
        }
    }

    private func retry() {
        let again = failed
        failed = []
        for watched in again {
            if (try? start(watched)) != nil { started.append(watched) } else { failed.append(watched) }
        }
    }

    /// Watches each line; a signal ends this too.
    private func watchStandardInput() {
        var input = TargetLines(descriptor: STDIN_FILENO)
        do {
            while let line = try input.next(beforeReading: { waitForInput() }) { watch(line) }
        } catch {
            complain("cannot read standard input: \(systemMessage(error.number))")
        }
    }

    private func watch(_ line: TargetLines.Line) {
        switch line {
        case .tooLong(let start):
            let message = "the line has more than \(TargetLines.limit) bytes: give one target a line"
            lines.write(Answer(target: start, outcome: .failure(message), time: .now))
        case .target(let text):
            do {
                watch(text, try CheckQuestion.target(text))
            } catch {
                lines.write(Answer(target: text, outcome: .failure("\(error)"), time: .now))
            }
        }
    }

    private func waitForInput() {
        if isOver(orReadable: STDIN_FILENO, timeout: -1) { end().exit() }
    }

    // MARK: The end

    /// Waits for a signal, for the reader of the output to go away, or for something else.
    private func isOver(orReadable descriptor: Int32?, timeout: Int32) -> Bool {
        // No event of the output is asked for: it tells on its own that nobody is left at its other end.
        var watched = [
            pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: STDOUT_FILENO, events: 0, revents: 0),
            pollfd(fd: descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&watched, nfds_t(watched.count), timeout) < 0, errno == EINTR {}
        return watched[0].revents != 0 || watched[1].revents != 0
    }

    /// Ends as SIGPIPE would have where the reader has gone.
    private func end() -> ExitStatus {
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        if poll(&output, 1, 0) > 0 { Glibc.exit(128 + SIGPIPE) }
        return .success
    }
}

extension ReachabilityTarget {
    /// Whether the resolver is needed for it.
    fileprivate var isName: Bool {
        if case .host = kind { true } else { false }
    }
}
