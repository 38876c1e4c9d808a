// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkPlanning
import NetlinkRecording

/// `netflags check`, the default command.
struct Check: TargetListCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Print the flags of each target (the default command).",
        usage: "netflags [check] [options] <target> ...",
        discussion: """
            The letters WR ctiCDld stand for isWWAN, reachable, connectionRequired, transientConnection, \
            interventionRequired, connectionOnTraffic, connectionOnDemand, isLocalAddress and isDirect; \
            - is a flag that is not set.

            To ask about a host with the name of a command, write: netflags check NAME.

            Exit status: 0 every target is reachable, 1 at least one is not, 2 at least one could not be \
            evaluated, 64 wrong usage.
            """
    )

    @OptionGroup var settings: CheckSettings

    @OptionGroup var operands: TargetArguments

    mutating func append(_ more: [String]) { operands.targets += more }

    func query() throws(UsageError) -> TargetQuery {
        try settings.query(operands.targets)
    }

    func perform() throws -> ExitStatus {
        try CheckRun(query()).run()
    }
}

/// The options of `check`, which completion offers without a command, too.
struct CheckSettings: ParsableArguments {
    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @Flag(help: "One JSON object a line, written at once.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "text, json or prometheus (metrics for node_exporter's textfile collector).",
            valueName: "format"
        )
    )
    var format: TargetQuery.Format?

    @Flag(name: [.customShort("q"), .long], help: "No output, only the exit status.")
    var quiet = false

    @Flag(
        help:
            "Show below each row the addresses, routes and interfaces that led to it, and what connect(2) gives."
    )
    var explain = false

    @OptionGroup var resolution: ResolutionOptions

    func query(_ targets: [String]) throws(UsageError) -> TargetQuery {
        var query = try resolution.query(targets, socket)
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

/// The parser reads these lists at each start; its own are made by key paths and reflection.
extension TargetQuery.Format: ExpressibleByArgument {
    static var allValueStrings: [String] { allCases.map { $0.rawValue } }
    static var allValueDescriptions: [String: String] { [:] }
}
