// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The root of the commands; ``RootHelp`` has its texts.
struct Netflags: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "netflags",
        version: "netflags \(version)",
        subcommands: subcommands,
        defaultSubcommand: Check.self
    )

    /// The version of the package.
    static let version = "0.2.0"

    static let subcommands: [any ParsableCommand.Type] = [
        Check.self, Watch.self, Wait.self, Path.self, Record.self, TimelineCommand.self, Diff.self,
        WhatIf.self, Assert.self, Spof.self, Sockets.self, Order.self, Doctor.self,
    ]

    /// The words that name a command when they come first; `help` is the parser's.
    static let commandNames = subcommands.compactMap { $0.configuration.commandName } + ["help"]
}
