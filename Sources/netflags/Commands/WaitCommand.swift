// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability

/// `netflags wait`.
struct Wait: TargetCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Return once every target is reachable.",
        usage: "netflags wait [--timeout <seconds>] [options] <target> ...",
        discussion: """
            Returns as soon as all targets are reachable at the same time, at once where they are. An interface \
            that does not exist, and a name that cannot be resolved, may come.

            It prints nothing on standard output, or with --json one line at the end. Which targets were not \
            reachable in time is told on standard error.

            Exit status: 0 every target is reachable, 1 the time is over, 2 the host could not be watched, \
            64 wrong usage. A signal ends it as any program.
            """
    )

    @OptionGroup(title: "Socket") var socket: SocketOptions

    @Option(
        help: ArgumentHelp(
            "How long to wait at the most, in seconds; without, as long as it takes.", valueName: "seconds"),
        transform: OptionValue.seconds
    )
    var timeout: Duration?

    @Flag(help: "Tell at the end what came of it, as one JSON object on one line.")
    var json = false

    @Argument(
        help: ArgumentHelp(
            "A host name, an address, address%interface, default (the default path), or - for standard input.",
            discussion: "Standard input is read to its end first.",
            valueName: "target"
        )
    )
    var targets: [String] = []

    func perform() throws(UsageFault) -> ExitStatus {
        let question = try question()
        let outcome = WaitRun(question.options, timeout: timeout).run(try question.allTargets())
        for fault in outcome.complaints { complain(fault) }
        guard json else { return outcome.status }
        var text = ByteBuffer()
        outcome.writeJSON(to: &text)
        return Output.standard.deliver(&text) ? outcome.status : .undetermined
    }

    /// What is asked, in values.
    func question() throws(UsageFault) -> CheckQuestion {
        guard !targets.isEmpty else {
            throw UsageFault(
                "nothing to wait for: give a name, an address, default, or - (see netflags wait --help)")
        }
        return CheckQuestion(targets: targets, options: socket.options)
    }
}

extension CheckQuestion {
    /// All targets, those on standard input too.
    fileprivate func allTargets() throws(UsageFault) -> [WaitRun.Wanted] {
        var all: [WaitRun.Wanted] = []
        for place in try understood() {
            switch place {
            case .target(let text, let target): all.append(WaitRun.Wanted(text: text, target: target))
            case .standardInput: all += try Self.targetsOnStandardInput()
            }
        }
        return all
    }

    private static func targetsOnStandardInput() throws(UsageFault) -> [WaitRun.Wanted] {
        var lines = TargetLines(descriptor: 0)
        var all: [WaitRun.Wanted] = []
        while let line = try next(&lines) {
            guard case .target(let text) = line else {
                throw UsageFault("a line has more than \(TargetLines.limit) bytes: give one target a line")
            }
            do {
                all.append(WaitRun.Wanted(text: text, target: try target(text)))
            } catch {
                throw UsageFault("\(error)")
            }
        }
        return all
    }

    private static func next(_ lines: inout TargetLines) throws(UsageFault) -> TargetLines.Line? {
        do {
            return try lines.next(beforeReading: {})
        } catch {
            throw UsageFault("cannot read standard input: \(systemMessage(error.number))")
        }
    }
}
