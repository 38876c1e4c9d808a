// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability

/// `netflags watch`.
struct Watch: TargetCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print the flags of each target now and again at every change.",
        usage: "netflags watch [options] <target> ...",
        discussion: """
            A line has the time in UTC and then what check prints. One comes for each target at the start (for a \
            name when it is resolved), and one for a target whenever its flags are others; the same flags never \
            come twice in a row. While lines are not read, what was true meanwhile is left out, the newest \
            flags are not. A target that cannot be asked about has its error in its line, and does not end the \
            others.

            SIGINT and SIGTERM end it, and so does a reader that goes away.

            Exit status: 0 when ended by a signal, 2 when it could not watch or write.
            """
    )

    @OptionGroup(title: "Socket") var socket: SocketOptions

    @Flag(help: "One JSON object a line, written as soon as it is known; its time is RFC 3339 in UTC.")
    var json = false

    @Flag(help: "Show under each line the addresses, routes and interfaces that led to it.")
    var explain = false

    @Argument(
        help: ArgumentHelp(
            "A host name, an address, address%interface, default (the default path), or - for standard input.",
            valueName: "target"
        )
    )
    var targets: [String] = []

    func perform() throws(UsageFault) -> ExitStatus {
        let question = try question()
        let places = try question.understood()
        do {
            return WatchRun(question, interruption: try Interruption()).run(places)
        } catch {
            complain("cannot \(error.operation): \(systemMessage(error.number))")
            return .undetermined
        }
    }

    /// What is asked, in values.
    func question() throws(UsageFault) -> CheckQuestion {
        guard !targets.isEmpty else {
            throw UsageFault(
                "nothing to watch: give a name, an address, default, or - (see netflags watch --help)")
        }
        return CheckQuestion(
            targets: targets,
            options: socket.options,
            format: json ? .json : .text,
            explains: explain
        )
    }
}
