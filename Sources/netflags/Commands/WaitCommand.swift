// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability

/// `netflags wait`.
struct Wait: NetflagsCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until every target is reachable, or none is.",
        usage: "netflags wait [options] <target> ...",
        discussion: """
            Returns as soon as all targets are reachable at the same time, or with --until down as soon as no \
            target is. It waits for interfaces that do not exist and for names that cannot be resolved. Stdin is \
            read to its end first.

            Nothing is printed on stdout, or with --json one line at the end. When the time is over, the first \
            targets that do not meet the condition are printed on stderr with the reasons.

            Exit status: 0 the targets meet the condition, 1 the time is over, 2 the targets could not be watched, \
            64 wrong usage.
            """
    )

    /// The conditions that `wait` waits for.
    enum Goal: String, ExpressibleByArgument, CaseIterable {
        case up
        case down
    }

    @OptionGroup var options: TargetOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Time limit; 0 does not wait, so that no name is resolved. (default: no limit)",
            valueName: "seconds"),
        transform: OptionValue.seconds
    )
    var timeout: Duration?

    @Option(help: ArgumentHelp("up: every target is reachable; down: no target is.", valueName: "goal"))
    var until: Goal = .up

    @Flag(help: "Print each change and its reason on stderr.")
    var verbose = false

    @Flag(help: "Print the outcome as one JSON object on one line.")
    var json = false

    func perform() throws -> ExitStatus {
        let query = try options.query()
        let run = WaitRun(
            query: query,
            goal: until == .up ? .up : .down,
            timeout: timeout,
            isVerbose: verbose,
            targets: try query.allTargets()
        )
        let outcome = run.run()
        guard json else { return outcome.status }
        var text = ByteBuffer()
        run.writeJSON(outcome, to: &text)
        try Output.standard.deliver(&text)
        return outcome.status
    }
}

extension TargetQuery {
    /// Parses all targets, those on standard input too.
    fileprivate func allTargets() throws -> [(text: String, target: ReachabilityTarget)] {
        var all: [(text: String, target: ReachabilityTarget)] = []
        try forEachTarget(
            of: try operands(),
            onFailure: { throw UsageError("\($0)") },
            { text, target in all.append((text, try target.mapError { UsageError("\($0)") }.get())) }
        )
        guard !all.isEmpty else { throw UsageError.noTargets }
        return all
    }
}
