// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// A command with an exit status of its own.
protocol NetflagsCommand: ParsableCommand {
    /// Runs the command.
    ///
    /// - Returns: The exit status of a run that did its work.
    /// - Throws: ``UsageError``, or why the command could not do its work: the exit status is 2 then.
    func perform() throws -> ExitStatus
}
