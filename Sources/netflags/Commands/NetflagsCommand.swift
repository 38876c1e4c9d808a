// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// A command with an exit status of its own.
protocol NetflagsCommand: ParsableCommand {
    func perform() throws(UsageError) -> ExitStatus
}

/// A command that takes any number of targets.
protocol TargetCommand: NetflagsCommand {
    var targets: [String] { get set }
}
