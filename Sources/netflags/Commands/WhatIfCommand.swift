// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
import NetlinkRecording

/// `netflags what-if`.
struct WhatIf: NetflagsCommand {
    static let configuration = CommandConfiguration(
        commandName: "what-if",
        abstract: "Print what a change would do, without making it.",
        usage: "netflags what-if [options] <change> ... [-- <target> ...]",
        discussion: """
            A change is one argument in the words of ip(8): 'link set eth0 down', 'route replace default via \
            192.0.2.1', 'addr del 192.0.2.2/24 dev eth0', 'rule add to 198.51.100.0/24 lookup 100', and \
            'carrier eth0 off' for a cable. Nothing is touched, and no privilege is needed.

            The output begins with what the changes and the kernel by itself do to links, addresses, routes and rules. \
            Targets follow as diff prints them: those after --, else the default path, an address of each network \
            that is concerned, and of the running kernel name servers and the other ends of connections, of a hundred \
            at most.

            Exit status: 0 no target differs, or every expectation holds; 1 at least one does or does not; 2 a change \
            would be refused, or at least one target could not be evaluated; 64 wrong usage.
            """
    )

    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @Flag(help: "One JSON object a target, as diff has it.")
    var json = false

    @Option(
        name: .customLong("assert"),
        file: "Check these expectations after the changes instead; - for stdin.")
    var expectations: String?

    @OptionGroup var recorded: ReplayOptions

    @Option(
        name: .customLong("target"),
        help: ArgumentHelp(
            "As after --: an address, address%interface, or default (the default path).", valueName: "target")
    )
    var targets: [String] = []

    @Argument(help: ArgumentHelp("A change in the words of ip(8).", valueName: "change"))
    var changes: [String] = []

    /// The arguments with an option for each target after the terminator: the parser knows one list of operands.
    static func withTargets(_ arguments: [String]) -> [String] {
        guard arguments.first == configuration.commandName, let index = arguments.firstIndex(of: "--") else {
            return arguments
        }
        return arguments[..<index] + arguments[(index + 1)...].map { "--target=\($0)" }
    }

    func perform() throws -> ExitStatus {
        guard !changes.isEmpty else { throw UsageError("no change: give one such as 'link set eth0 down'") }
        let changes: [NetworkState.Change] = try UsageError.wrapping {
            try self.changes.map { text in try NetworkState.Change(text) }
        }
        let instant = try recorded.instant()
        guard let expectations else { return try compare(changes, instant) }
        guard targets.isEmpty else {
            throw UsageError("the targets are those of the expectations: leave out --assert, or the targets")
        }
        guard try socket.options(isReplay: true) == ReachabilityOptions() else {
            throw UsageError("the sockets are those of the expectations: give the options in their lines")
        }
        guard expectations != "-" || instant?.operand != "-" else {
            throw UsageError("stdin is either the recording or the expectations: give a file for one of them")
        }
        let file = try ExpectationFile(expectations, isReplay: true)
        let after = try NetworkState(instant).applying(changes)
        return try file.check(after.source, AssertFormat(file: file.name, isJSON: json))
    }

    private func compare(
        _ changes: [NetworkState.Change],
        _ instant: RecordedInstant?
    ) throws -> ExitStatus {
        let options = try socket.options(isReplay: true)
        let named = try TargetQuery(targets: targets, options: options).recordedTargets()
        let before = try NetworkState(instant)
        let comparison = RecordedComparison(
            before.routing, try before.applying(changes).routing, isPrediction: true)
        if !json { try Output.standard.deliver(comparison.writeEffects) }
        let own = instant == nil && targets.isEmpty ? Self.ownTargets : []
        return try comparison.print(named, options, beside: own, isJSON: json)
    }

    /// The name servers of this host, and the other ends of its connections.
    private static var ownTargets: [IPAddress] {
        let servers = (try? NetworkPathMonitor().path().nameservers) ?? []
        var remotes: [IPAddress] = []
        do {
            remotes = try SocketList(source: .kernel(), namesProcesses: false).remotes()
        } catch {
            printError("the other ends of connections are not compared: \(error)")
        }
        let limit = RecordedComparison.networkLimit
        if remotes.count > limit {
            printError(
                "\(remotes.count - limit) more ends of connections were not compared: give them as targets")
        }
        return servers + remotes.prefix(limit).filter { !servers.contains($0) }
    }
}

extension NetworkState {
    /// The network of a recording at an instant, or of the running kernel; prints where a recording could not be read.
    init(_ instant: RecordedInstant?) throws(ReachabilityError) {
        self = if let instant { NetworkState(try instant.routing()) } else { try .live() }
    }
}
