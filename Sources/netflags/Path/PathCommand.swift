// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import NetlinkReachability
import SystemSupport

/// `netflags path`.
struct Path: NetflagsCommand {
    static let configuration = CommandConfiguration(
        commandNamed: .path,
        abstract: "Print the default path: interfaces, gateways and DNS.",
        usage: "netflags path [options]",
        discussion: """
            The interfaces that packets take come first, then others through which a bound socket can send. DNS is \
            whether packets can leave to a name server of resolv.conf; a recording holds none. With socket options \
            it is the path of such a socket.

            Evidence is whether anything answers, as the TCP connections of this host and its gateway show. The \
            status does not depend on it.

            With --watch there is a line at the start and whenever the path or the evidence changes: the time in \
            UTC, the status, the interfaces (those that packets do not take in parentheses), what the path \
            supports, the gateways, the reason, and the evidence. SIGINT and SIGTERM end it as they end other programs.

            Exit status: 0 packets can leave, also where they make the connection that they need, 1 they cannot, \
            2 the path could not be evaluated or written, 64 wrong usage.
            """
    )

    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @Flag(help: "Print a line now and again at every change of the path.")
    var watch = false

    @Flag(
        help: """
            Also print what identifies the network: the hardware addresses of its gateways, and the SSID. It locates \
            the user. With --watch, also when it changes.
            """)
    var identity = false

    @Flag(help: "One JSON object a line; with --watch its time is RFC 3339 in UTC.")
    var json = false

    @OptionGroup var recorded: ReplayOptions

    func perform() throws -> ExitStatus {
        let recording = try recorded.instant()
        let options = try socket.options(isReplay: recording != nil)
        if recording != nil {
            try UsageError.refuse(
                [("--identity", identity)], because: "a recording has no hardware addresses")
        }
        if watch {
            try UsageError.refuse(
                [("--replay", recording != nil)], because: "--watch is for the live kernel")
            try watch(options)
        }
        let source = try recording?.source() ?? .kernel
        let format = PathFormat(
            isJSON: json, managers: recording == nil ? HostManagers() : nil, identifies: identity)
        let metering = format.managers?.metering ?? .unmetered
        let result = source.blockingValues(
            of: [.path(options: options, metering: metering, identifies: identity)])[0]
        let mistake = (try? result.get())?.reason.mistake
        if let error = result.failure?.description ?? mistake, !Output.standard.isTerminal {
            printError(error)
        }
        let evidence = source.blockingValues(of: [.evidence(options: options)])[0]
        try Output.standard.deliver { format.write(result, evidence, to: &$0) }
        guard mistake == nil else { return .undetermined }
        return ExitStatus(isReachable: (try? result.get()).map { isNetworkReachable(flags: $0.flags) })
    }

    /// Prints the path now and at each change, until a signal arrives or the reader of the output is gone.
    ///
    /// Both end the process.
    ///
    /// - Throws: A failure if standard output is closed at the beginning; an error if netlink is refused at the
    ///   beginning.
    private func watch(_ options: ReachabilityOptions) throws -> Never {
        try Output.standard.beginWatching()
        let managers = HostManagers()
        let format = PathFormat(isJSON: json, managers: managers, identifies: identity)
        let lines = Locked(PathLineFormat(format))
        let watcher = try QueryWatcher<NetworkPath> { _, result in
            if let result { lines.withLock { $0.print(result) } }
            return false
        }
        let answers = try QueryWatcher<NetworkEvidence> { _, result in
            if let evidence = try? result?.get() { lines.withLock { $0.print(evidence) } }
            return false
        }
        // If this fails, the path is still watched.
        try? answers.add(.evidence(options: options), at: 0)
        answers.drain()
        try watcher.addOrRetry(
            .path(options: options, metering: managers.metering, identifies: identity), at: 0)
        // Without events, poll(2) reports only that the other end is closed.
        withExtendedLifetime(answers) { _ = watcher.wait(for: [(STDOUT_FILENO, 0)]) }
        endByClosedPipe()
    }
}
