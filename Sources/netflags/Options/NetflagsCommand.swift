// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The words that name a command when they come first, in the order of the help; `help` is the parser's.
enum CommandName: String, CaseIterable {
    case check, watch, wait, path, record, timeline, diff
    case whatIf = "what-if"
    case assert, trace, sockets, order, doctor, help

    static let all = allCases.map(\.rawValue)
}

extension CommandConfiguration {
    /// The version of the package.
    static let version = "0.2.0"

    /// The name and the version, as `--version` of each command prints them.
    static let versionText = "netflags \(version)"

    /// The configuration of a command of ``Netflags`` that is parsed without it.
    ///
    /// With a super-command, the parser does not look for `--generate-completion-script`, for which it parses two
    /// commands of its own.
    init(commandNamed name: CommandName, abstract: String, usage: String, discussion: String) {
        self.init(
            commandName: name.rawValue, _superCommandName: "netflags", abstract: abstract, usage: usage,
            discussion: discussion, version: Self.versionText)
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
