// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
import NetlinkRecording

/// The root of the commands.
///
/// It has no arguments: they would take the name of a command for a target.
struct Netflags: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "netflags",
        abstract: "Print whether and how this host can send to a target.",
        usage: """
            netflags [check] [options] <target> ...
            netflags <command> [options] ...
            """,
        discussion: """
            The kernel decides, by its rules, tables, metrics and interfaces. Nothing is sent to the target: \
            "reachable" means that packets can leave towards it, not that it answers. A target is a host name, an \
            address, address%interface, default (the default path), or - for stdin.

            Examples:
              netflags example.com 192.0.2.1         are these reachable?
              netflags --explain default             why: address, route and interface
              netflags watch --json example.com      one line at every change
              netflags wait --timeout 30 default     block until the host is online

            Options of check: --json, --format, --quiet, --explain, --timeout, --replay, --at; and those of a \
            socket: -4, -6, --interface, --source, --mark, --uid, --protocol, --port, --source-port, --tos.

            Exit status: 0 every target is reachable, 1 at least one is not, 2 at least one could not be \
            evaluated, 64 wrong usage.

            See also: netflags <command> --help, netflags(1), and docs/netflags.md and docs/flag-rules.md of \
            swift-netlink-reachability.
            """,
        version: versionText,
        subcommands: subcommands
    )

    /// The version of the package.
    static let version = "0.2.0"

    /// The name and the version, as `--version` of each command prints them.
    static let versionText = "netflags \(version)"

    static let subcommands: [any ParsableCommand.Type] = [
        Check.self, Watch.self, Wait.self, Path.self, Record.self, TimelineCommand.self, Diff.self,
        WhatIf.self, Assert.self, Sockets.self, Order.self, Doctor.self,
    ]

    /// The words that name a command when they come first; `help` is the parser's.
    static let commandNames = subcommands.compactMap { $0.configuration.commandName } + ["help"]

    /// Whether the root reads a command line that begins with a word.
    private static func reads(_ word: String) -> Bool {
        ["help", "-h", "-help", "--help", "--help-hidden", "--experimental-dump-help"].contains(word)
            || isCompletion(word)
    }

    /// Whether a word asks for a completion script.
    static func isCompletion(_ word: String) -> Bool { word.hasPrefix("--generate-completion-script") }

    /// Parses a command line with the command that comes first, or with ``Check`` where none does.
    ///
    /// The parser has default commands, too, but builds the options of one several times for every command line.
    ///
    /// - Returns: The command, or the parser's own for help.
    /// - Throws: What the parser throws.
    static func parseCommand(_ arguments: [String]) throws -> any ParsableCommand {
        if arguments.first.map(reads) == true { return try parseAsRoot(arguments) }
        guard let command = command(named: arguments.first) else { return try Check.parseAsRoot(arguments) }
        return try command.parseAsRoot(Array(arguments.dropFirst()))
    }

    /// The command with a name; `nil` where there is none.
    static func command(named name: String?) -> (any ParsableCommand.Type)? {
        subcommands.first { $0.configuration.commandName == name }
    }
}

extension CommandConfiguration {
    /// The configuration of a command of ``Netflags`` that is parsed without it.
    ///
    /// With a super-command, the parser does not look for `--generate-completion-script`, for which it parses two
    /// commands of its own.
    init(commandNamed name: String, abstract: String, usage: String, discussion: String) {
        self.init(
            commandName: name, _superCommandName: "netflags", abstract: abstract, usage: usage,
            discussion: discussion, version: Netflags.versionText)
    }
}

/// A command with an exit status of its own.
protocol NetflagsCommand: ParsableCommand {
    /// Runs the command.
    ///
    /// - Returns: The exit status of a run that did its work.
    /// - Throws: ``UsageError``, or why the command could not do its work: the exit status is 2 then.
    func perform() throws -> ExitStatus
}

/// A command that ends with a list of targets.
protocol TargetListCommand: NetflagsCommand {
    /// The targets as given.
    var targets: [String] { get set }
}

extension TargetListCommand {
    /// The query of a command that waits for changes: it has a target at least.
    func query(_ socket: SocketOptions, isReplay: Bool = false) throws(UsageError) -> TargetQuery {
        guard !targets.isEmpty else { throw .noTargets }
        return TargetQuery(targets: targets, options: try socket.options(isReplay: isReplay))
    }
}

/// The root as completion scripts know it: with the options of its default command, and without its targets, for
/// which the scripts would take the names of commands.
struct RootCompletion: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "netflags",
        version: Netflags.versionText,
        subcommands: Netflags.subcommands
    )

    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @OptionGroup var settings: CheckSettings

    @OptionGroup var recorded: ReplayOptions
}
