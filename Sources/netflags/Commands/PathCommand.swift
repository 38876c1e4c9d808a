// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability

/// `netflags path`.
struct Path: NetflagsCommand {
    static let configuration = CommandConfiguration(
        commandName: "path",
        abstract: "Print the default path: status, interfaces, gateways, IPv4, IPv6 and DNS.",
        usage: "netflags path [--replay <file>] [--json]",
        discussion: """
            The interfaces are those that the default path leads through, the one that packets take first. DNS \
            is whether packets can leave to a name server of resolv.conf; a recording holds none.

            Exit status: 0 packets can leave, also where they make the connection that they need, 1 they cannot, \
            2 the path could not be evaluated.
            """
    )

    @Flag(help: "One JSON object on one line.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Evaluate a recording instead of the live kernel; - for stdin.", valueName: "file"),
        completion: .file()
    )
    var replay: String?

    func perform() throws(UsageError) -> ExitStatus {
        let source: NetworkSource?
        do {
            source = try .recorded(replay)
        } catch {
            printError("\(error)")
            return .undetermined
        }
        let result = Result { () throws(ReachabilityError) in try NetworkPathMonitor(source: source).verdict()
        }
        var text = ByteBuffer()
        PathFormat(json: json).write(result, to: &text)
        if case .failure(let error) = result, !Output.standard.isTerminal { printError("\(error)") }
        return Output.standard.deliver(&text) ? result.exitStatus : .undetermined
    }
}

extension Result where Success == PathVerdict {
    /// The exit status of the default path.
    var exitStatus: ExitStatus {
        switch self {
        case .success(let verdict): isNetworkReachable(flags: verdict.path.flags) ? .success : .unreachable
        case .failure: .undetermined
        }
    }
}
