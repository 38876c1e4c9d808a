// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
import NetlinkRecording

/// `netflags check`, the default command.
struct Check: TargetListCommand {
    static let configuration = CommandConfiguration(
        commandNamed: .check,
        abstract: "Print the flags of each target (the default command).",
        usage: "netflags [check] [options] <target> ...",
        discussion: """
            The letters WR ctiCDld stand for isWWAN, reachable, connectionRequired, transientConnection, \
            interventionRequired, connectionOnTraffic, connectionOnDemand, isLocalAddress and isDirect; \
            - is a flag that is not set.

            To ask about a host with the name of a command, write: netflags check NAME.

            Exit status: 0 every target is reachable, with --arriving its packets are delivered or forwarded, with \
            --why-not they leave through the interface, 1 at least one is not, 2 at least one could not be \
            evaluated, 64 wrong usage.
            """
    )

    // Groups are not nested: in a debug build, the parser's checks read a group four times per level.
    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @OptionGroup var settings: CheckSettings

    @OptionGroup var recorded: ReplayOptions

    @Argument(help: .targets) var targets: [String] = []

    func query() throws(UsageError) -> TargetQuery {
        try settings.applied(to: recorded.query(targets, socket, timeout: settings.timeout))
    }

    /// Evaluates the targets, and writes a line for each in their order.
    func perform() throws -> ExitStatus {
        let query = try query()
        let operands = try query.operands()
        if let question = try settings.arrival(query, socket) { return try question.run(query, operands) }
        if let question = try settings.egress(query) { return try question.run(query, operands) }
        let output = Output.standard
        var pending = PendingReports(query, try query.recording?.source() ?? .kernel)
        var format: (any LineFormat)? =
            switch query.format {
            case _ where query.isQuiet: nil
            case .text: TextFormat(query, isTimed: false, for: output)
            case .json: JSONFormat(explains: query.explains)
            case .prometheus: PrometheusFormat()
            }
        // Errors are also printed on standard error, unless the user sees them in the lines.
        let repeatsErrors = !query.isQuiet && !output.isTerminal
        var (buffer, status, hasTargets) = (ByteBuffer(), ExitStatus.success, false)

        func write(_ line: TargetLine) {
            status = status.worse(line.exitStatus)
            if repeatsErrors, let error = line.outcome?.failure?.description ?? line.mistake {
                printError("\(line.target): \(error)")
            }
            format?.write(line, to: &buffer)
        }
        /// Waits for all pending results and formats them. Writes the lines so far before it waits for a name.
        func evaluatePending() throws {
            try pending.evaluateAll(beforeWaiting: { try output.deliver(&buffer) }, write)
            try output.deliver(&buffer)
        }
        /// Writes the results so far, before a read that can block and at the end.
        func writePending() throws {
            try evaluatePending()
            format?.flush(to: &buffer)
            try output.deliver(&buffer)
        }
        func report(_ failure: FileFailure) {
            printError("\(failure)")
            status = .undetermined
        }
        try query.forEachTarget(of: operands, beforeReading: writePending, onFailure: report) {
            text, target in
            hasTargets = true
            pending.add(text, target)
            if pending.isFull { try evaluatePending() }
        }
        guard hasTargets || status != .success else { throw UsageError.noTargets }
        try writePending()
        return status
    }
}

/// The options that only `check` has.
struct CheckSettings: ParsableArguments {
    @Flag(help: "One JSON object a line, written at once.")
    var json = false

    @Option(word: "text, json or prometheus (metrics for node_exporter's textfile collector).", "format")
    var format: TargetQuery.Format?

    @Flag(name: [.customShort("q"), .long], help: "No output, only the exit status.")
    var quiet = false

    @Flag(
        help:
            "Show below each row the addresses, routes and interfaces that led to it, and what connect(2) gives."
    )
    var explain = false

    @Option(
        word: "Say what becomes of a packet to the target that arrives on this interface.", "name",
        .names(printedBy: "ls /sys/class/net"), parsedBy: SocketText.interface)
    var arriving: InterfaceReference?

    @Option(
        word: "The sender of that packet. (default: a public address)", "address",
        parsedBy: SocketText.address)
    var from: IPAddress?

    @Option(
        word: "What keeps packets from leaving through an interface.", "name",
        .names(printedBy: "ls /sys/class/net"), parsedBy: SocketText.interface)
    var whyNot: InterfaceReference?

    @Option(limitOf: "resolving each name")
    var timeout: Duration = .seconds(5)

    /// The question of `--arriving`; `nil` without it.
    ///
    /// - Throws: A usage error for options that mean nothing for such packets.
    func arrival(_ query: TargetQuery, _ socket: SocketOptions) throws(UsageError) -> TargetQuestion<
        PacketArrival
    >? {
        guard let arriving else {
            try UsageError.refuse(
                [("--from", from != nil)], because: "only packets of --arriving INTERFACE have a sender")
            return nil
        }
        try UsageError.refuse(
            [
                ("--interface", socket.interface != nil), ("--source", socket.source != nil),
                ("--uid", socket.uid != nil),
            ], because: "a packet of --arriving has no socket here, and its sender is --from")
        try UsageError.refuse(
            [
                ("--explain", explain), ("--why-not", whyNot != nil),
                ("--format prometheus", query.format == .prometheus),
            ], because: "--arriving has an answer of its own")
        return TargetQuestion(arrivingOn: arriving, from: from)
    }

    /// The question of `--why-not`; `nil` without it.
    ///
    /// - Throws: A usage error for options whose output it does not have.
    func egress(_ query: TargetQuery) throws(UsageError) -> TargetQuestion<PacketEgress>? {
        guard let whyNot else { return nil }
        try UsageError.refuse(
            [("--explain", explain), ("--format prometheus", query.format == .prometheus)],
            because: "--why-not has an answer of its own")
        return TargetQuestion(whyNot: whyNot)
    }

    /// The query with these options.
    func applied(to query: TargetQuery) throws(UsageError) -> TargetQuery {
        var query = query
        query.format = try .chosen(format, json: json)
        if quiet {
            try UsageError.refuse(
                [("--json", json), ("--format", format != nil), ("--explain", explain)],
                because: "--quiet prints nothing")
        }
        if query.format == .prometheus {
            try UsageError.refuse([("--explain", explain)], because: "metrics cannot hold an explanation")
        }
        query.explains = explain
        query.isQuiet = quiet
        return query
    }
}
