// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The command line: its commands, and the way in.
@main
struct Netflags: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "netflags",
        abstract: "Tell whether and how this host can send to a target.",
        usage: """
            netflags [check] [options] <target> ...
            netflags --replay <file> [options] <target> ...
            netflags watch [options] <target> ...
            netflags wait [--timeout <seconds>] [options] <target> ...
            netflags path [--replay <file>] [--json]
            netflags record <file> [--events] [--duration <seconds>]
            netflags doctor [--json]
            """,
        discussion: """
            The kernel decides: its rules, tables, metrics and interfaces are asked, and nothing is sent to \
            the target. "Reachable" means that packets can leave towards it, not that it answers.

            Exit status: 0 every target is reachable, 1 at least one is not, 2 at least one could not be \
            determined, 64 wrong usage.
            """,
        version: version,
        subcommands: [Check.self, Watch.self, Wait.self, Path.self, Record.self, Doctor.self],
        defaultSubcommand: Check.self
    )

    /// The version of the package.
    static let version = "0.1.0"

    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let status = CheckQuestion(plain: arguments)?.answer() ?? parseAndRun(arguments)
        status.exit()
    }
}
