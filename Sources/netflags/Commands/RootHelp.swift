// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The root with the options of its default command, as help shows it.
///
/// The parser parses ``Netflags``: a root with arguments of its own would take the name of a command for a target.
struct RootHelp: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "netflags",
        abstract: "Print whether and how this host can send to a target.",
        usage: """
            netflags [check] [options] <target> ...
            netflags watch [options] <target> ...
            netflags wait [options] <target> ...
            netflags path [options]
            netflags record [options] <file>
            netflags timeline [options] <recording> <target> ...
            netflags diff [options] <old> <new> [<target> ...]
            netflags sockets [options]
            netflags order [options] <name or address> ...
            netflags what-if [options] <change> ... [-- <target> ...]
            netflags assert [options] <file>
            netflags spof [options] <target> ...
            netflags doctor [--json]
            """,
        discussion: """
            The kernel decides, by its rules, tables, metrics and interfaces. Nothing is sent to the target: \
            "reachable" means that packets can leave towards it, not that it answers.

            Examples:
              netflags example.com 192.0.2.1         are these reachable?
              netflags --explain default             why: address, route and interface
              netflags watch --json example.com      one line at every change
              netflags wait --timeout 30 default     block until the host is online

            Exit status: 0 every target is reachable, 1 at least one is not, 2 at least one could not be \
            evaluated, 64 wrong usage.

            See also: netflags <command> --help, and docs/netflags.md and docs/flag-rules.md of \
            swift-netlink-reachability.
            """,
        version: Netflags.configuration.version,
        subcommands: Netflags.subcommands
    )

    @OptionGroup var check: Check
}

/// The root as completion scripts know it: with the options of its default command, and without its targets, for
/// which the scripts would take the names of commands.
struct RootCompletion: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "netflags",
        version: Netflags.configuration.version,
        subcommands: Netflags.subcommands
    )

    @OptionGroup var settings: CheckSettings
}
