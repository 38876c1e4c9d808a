// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
import NetlinkRecording

/// `netflags order`.
struct Order: TargetListCommand {
    static let configuration = CommandConfiguration(
        commandNamed: .order,
        abstract: "Print addresses in the order to try them, and why.",
        usage: "netflags order [options] <name or address> ...",
        discussion: """
            The addresses of all targets are one list, in the order of RFC 6724 with the labels, precedences and scopes \
            of /etc/gai.conf, for a recording with the standard ones. Those that packets cannot leave for come last, without a rank.

            A row has the rank, the address, the flags' letters, whether packets can leave, the interface, the source \
            address, the rule that put the address behind the one before, and the reason of its flags.

            Exit status: 0 at least one address can be reached, 1 none can, 2 at least one could not be evaluated, 64 \
            wrong usage.
            """
    )

    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @Flag(help: "Let the families alternate (RFC 8305, section 4).")
    var interleave = false

    @Flag(help: "One JSON object an address.")
    var json = false

    @Option(limitOf: "resolving each name")
    var timeout: Duration = .seconds(5)

    @OptionGroup var recorded: ReplayOptions

    @Argument(
        help: ArgumentHelp(
            "A host name, an address, address%interface, or - for stdin.", valueName: "name or address"))
    var targets: [String] = []

    func perform() throws -> ExitStatus {
        let query = try recorded.query(targets, socket, timeout: timeout)
        var isWhole = true
        let targets = try query.readTargets(of: try query.operands()) {
            printError("\($0)")
            isWhole = false
        }
        guard !targets.isEmpty || !isWhole else { throw UsageError.noTargets }
        guard !targets.contains(where: { (try? $0.target.get())?.kind == .defaultPath }) else {
            throw UsageError("the default path has no address: give names and addresses")
        }
        let source = try query.recording?.source() ?? .kernel
        let run = OrderRun(options: query.options, source: source, interleaved: interleave)
        let lines = run.lines(of: targets)
        for line in lines {
            guard let error = line.error?.description ?? line.entry?.reason.mistake else { continue }
            isWhole = false
            if !Output.standard.isTerminal { printError("\(line.target): \(error)") }
        }
        try Output.standard.deliver { text in
            if json {
                for line in lines { line.writeJSON(to: &text) }
            } else {
                OrderLine.writeText(lines, for: .standard, to: &text)
            }
        }
        guard isWhole else { return .undetermined }
        return ExitStatus(isReachable: lines.contains { $0.entry?.rank != nil })
    }
}
