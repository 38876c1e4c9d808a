// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The root command.
///
/// It has no arguments, because they would take the name of a command for a target.
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
        version: CommandConfiguration.versionText,
        subcommands: subcommands
    )

    static let subcommands: [any ParsableCommand.Type] = [
        Check.self, Watch.self, Wait.self, Path.self, Record.self, TimelineCommand.self, Diff.self,
        WhatIf.self, Assert.self, TraceCommand.self, Sockets.self, Order.self, Doctor.self,
    ]

    /// Whether the root reads a command line that begins with a word.
    private static func reads(_ word: String) -> Bool {
        ["help", "-h", "-help", "--help", "--help-hidden", "--experimental-dump-help"].contains(word)
            || isCompletion(word)
    }

    /// Whether a word requests a completion script.
    static func isCompletion(_ word: String) -> Bool { word.hasPrefix("--generate-completion-script") }

    /// Parses a command line with the command that comes first, or with ``Check`` if no command comes first.
    ///
    /// The parser also has default commands, but it creates the default command's options several times for every
    /// command line.
    ///
    /// - Returns: The command, or the parser's own command for help.
    /// - Throws: The error of the parser.
    static func parseCommand(_ arguments: [String]) throws -> any ParsableCommand {
        if arguments.first.map(reads) == true { return try parseAsRoot(arguments) }
        guard let command = command(named: arguments.first) else { return try Check.parseAsRoot(arguments) }
        return try command.parseAsRoot(Array(arguments.dropFirst()))
    }

    /// The command with a name; `nil` if there is none.
    static func command(named name: String?) -> (any ParsableCommand.Type)? {
        subcommands.first { $0.configuration.commandName == name }
    }
}

/// The root as completion scripts know it: with the options of its default command, and without its targets, for
/// which the scripts would take the names of commands.
struct RootCompletion: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "netflags",
        version: CommandConfiguration.versionText,
        subcommands: Netflags.subcommands
    )

    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @OptionGroup var settings: CheckSettings

    @OptionGroup var recorded: ReplayOptions
}
