// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability

/// `netflags check`, the default command.
struct Check: TargetCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Print the flags of each target (the default command).",
        usage: "netflags [check] [options] <target> ...",
        discussion: """
            The letters WR ctiCDld stand for isWWAN, reachable, connectionRequired, transientConnection, \
            interventionRequired, connectionOnTraffic, connectionOnDemand, isLocalAddress and isDirect; \
            - is a flag that is not set.

            A command is given first, options and targets in any order after it. A host whose name is a \
            command's is asked about with: netflags check NAME.
            """
    )

    @OptionGroup(title: "Socket") var socket: SocketOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    @Flag(help: "Show under each answer the addresses, routes and interfaces that led to it.")
    var explain = false

    @Option(
        help: ArgumentHelp("How long the resolver may take over a name, in seconds.", valueName: "seconds"),
        transform: OptionValue.seconds
    )
    var timeout: Duration = .seconds(5)

    @Option(
        help: ArgumentHelp(
            "Judge against a recording instead of the live kernel; - for standard input.",
            discussion: """
                A file of netflags record, rtmon or ip monitor file, or a pcap of an nlmon device. Names are \
                resolved by this host. What the recording does not tell is undecided: exit status 2.
                """,
            valueName: "file"
        )
    )
    var replay: String?

    @Argument(
        help: ArgumentHelp(
            "A host name, an address, address%interface, default (the default path), or - for standard input.",
            discussion: """
                Standard input holds one target a line; blank lines and lines that start with # are skipped.
                """,
            valueName: "target"
        )
    )
    var targets: [String] = []

    func perform() throws(UsageFault) -> ExitStatus {
        try question().answer()
    }

    /// What is asked, in values.
    func question() throws(UsageFault) -> CheckQuestion {
        guard !targets.isEmpty else {
            throw UsageFault(
                "nothing to ask about: give a name, an address, default, or - (see netflags --help)")
        }
        let format = try output.chosen()
        guard !explain || format != .prometheus else {
            throw UsageFault("metrics have no room for an explanation: leave out --explain")
        }
        var options = socket.options
        options.resolutionTimeout = timeout
        return CheckQuestion(
            targets: targets,
            options: options,
            format: format,
            explains: explain,
            recording: replay
        )
    }
}
