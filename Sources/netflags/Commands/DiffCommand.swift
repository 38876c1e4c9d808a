// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkPlanning
import NetlinkReachability
import NetlinkRecording

/// `netflags diff`.
struct Diff: TargetListCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Print what two recordings answer differently, and why.",
        usage: "netflags diff [options] <old> <new> [<target> ...]",
        discussion: """
            OLD and NEW are recordings, - for stdin, or live for the running kernel; ./live is a file of that name. \
            The state at the end of each counts.

            A target whose flags, interface or gateway differ has a line with its name, one with the old answer \
            (-), one with the new (+), and one for each link, address, route or rule of the smallest set that \
            explains it: without it in NEW, the old answer returns. Without a target it is the default path, that \
            of each family, and an address of each network whose routes, rules or addresses differ, of a hundred at \
            most.

            Exit status: 0 no target differs, 1 at least one does, 2 at least one could not be evaluated, 64 wrong \
            usage.
            """
    )

    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @Flag(help: "One JSON object a target.")
    var json = false

    @Argument(help: "The older recording, - for stdin, or live.", completion: .file())
    var old: String

    @Argument(help: "The newer recording, - for stdin, or live.", completion: .file())
    var new: String

    @OptionGroup var named: RecordedTargets

    mutating func append(_ more: [String]) { named.targets += more }

    func perform() throws -> ExitStatus {
        guard old != "-" || new != "-" else {
            throw UsageError("stdin can be read only once: give a file for one of the recordings")
        }
        let options = try socket.options(isReplay: old != "live" && new != "live")
        let targets = try TargetQuery(targets: named.targets, options: options).recordedTargets()
        let comparison = RecordedComparison(try .state(old), try .state(new))
        return try comparison.print(targets, options, isJSON: json)
    }
}

extension RecordedRouting {
    /// Reads a recording, or dumps the running kernel for `live`.
    fileprivate static func state(_ text: String) throws(ReachabilityError) -> RecordedRouting {
        text == "live" ? try .live() : try RecordedInstant(operand: text).routing()
    }
}
