// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
import NetlinkRecording

/// `netflags spof`.
struct Spof: NetflagsCommand {
    static let configuration = CommandConfiguration(
        commandName: "spof",
        abstract: "Print the single points of failure of a target.",
        usage: "netflags spof [options] <target> ...",
        discussion: """
            Each link, carrier, gateway, address, route and rule that the answer uses is taken away, one at a time: \
            none (the answer stays), fallback (packets take another way, which is named), lost, or unknown. Nothing is \
            touched.

            Exit status: 0 no loss alone cuts a target off, 1 at least one does, or a target is not reachable, 2 at \
            least one target or loss could not be evaluated, 64 wrong usage.
            """
    )

    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @Flag(help: "One JSON object a loss.")
    var json = false

    @OptionGroup var recorded: ReplayOptions

    @Argument(
        help: ArgumentHelp(
            "An address, address%interface, or default (the default path).", valueName: "target"))
    var targets: [String] = []

    func perform() throws -> ExitStatus {
        guard !targets.isEmpty else {
            throw UsageError("no target: give an address, or default for the default path")
        }
        let options = try socket.options(isReplay: true)
        let named = try TargetQuery(targets: targets, options: options).recordedTargets()
        let search = LossSearch(try NetworkState(try recorded.instant()))
        let format = LossFormat(isJSON: json)
        var buffer = ByteBuffer()
        var status = ExitStatus.success
        for (text, target) in named {
            let (answer, losses) = search.losses(of: target, options)
            format.write(text, answer, losses, to: &buffer)
            if let error = answer.failure, json { printError("\(text): \(error)") }
            let isUnknown = answer.isReachable == nil || losses.contains { $0.outcome == .unknown }
            let isSafe = answer.isReachable == true && losses.allSatisfy { $0.outcome != .lost }
            status = status.worse(ExitStatus(isReachable: isUnknown ? nil : isSafe))
            try Output.standard.deliver(&buffer)
        }
        return status
    }
}
