// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability

/// `netflags path`.
struct Path: NetflagsCommand {
    static let configuration = CommandConfiguration(
        commandName: "path",
        abstract: "Print what the default path is: status, interfaces, gateways, IPv4, IPv6 and DNS.",
        usage: "netflags path [--replay <file>] [--json]",
        discussion: """
            The interfaces are those through which the default path leads, the one that packets take first. DNS \
            is whether a name server of resolv.conf can be sent to; a recording holds none.

            Exit status: 0 packets can leave, also where they make the connection that they need, 1 they cannot, \
            2 it could not be determined.
            """
    )

    @Flag(help: "One JSON object on one line.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Judge against a recording instead of the live kernel; - for standard input.",
            valueName: "file"
        )
    )
    var replay: String?

    func perform() throws(UsageFault) -> ExitStatus {
        let source: NetworkSource?
        do {
            source = try recording()
        } catch {
            complain("\(error)")
            return .undetermined
        }
        let output = PathOutput(json: json)
        var text = ByteBuffer()
        var status: ExitStatus
        do {
            let verdict = try NetworkPathMonitor(source: source).verdict()
            output.write(verdict, to: &text)
            status = isNetworkReachable(flags: verdict.path.flags) ? .success : .unreachable
        } catch {
            output.write(error, to: &text)
            complain("\(error)")
            status = .undetermined
        }
        if !Output.standard.deliver(&text) { status = .undetermined }
        return status
    }

    /// The recording; `nil` for the live kernel.
    private func recording() throws(ReachabilityError) -> NetworkSource? {
        guard let replay else { return nil }
        return try .recording(path: replay == "-" ? "/dev/stdin" : replay)
    }
}
