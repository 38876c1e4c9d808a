// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability

/// `netflags order`.
struct Order: NetflagsCommand {
    static let configuration = CommandConfiguration(
        commandName: "order",
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

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Time limit for resolving each name; 0 does not wait.", valueName: "seconds"),
        transform: OptionValue.seconds
    )
    var timeout: Duration = .seconds(5)

    @OptionGroup var recorded: ReplayOptions

    @Argument(
        help: ArgumentHelp(
            "A host name, an address, address%interface, or - for stdin.", valueName: "name or address"))
    var targets: [String] = []

    func perform() throws -> ExitStatus {
        guard !targets.isEmpty else { throw UsageError.noTargets }
        let recording = try recorded.instant()
        var options = try socket.options(isReplay: recording != nil)
        options.resolutionTimeout = timeout
        let query = TargetQuery(targets: targets, options: options, recording: recording)
        let operands = try query.operands()
        let source = try recording?.source() ?? .kernel()
        var run = OrderRun(query: query, source: source, interleaved: interleave)
        try run.add(operands)
        let lines = run.lines()
        var text = ByteBuffer()
        if json {
            for line in lines { line.writeJSON(to: &text) }
        } else {
            OrderLine.writeText(lines, for: .standard, to: &text)
        }
        if !Output.standard.isTerminal {
            for case (let target, let error?) in lines.map({ ($0.target, $0.error) }) {
                printError("\(target): \(error)")
            }
        }
        try Output.standard.deliver(&text)
        return run.status(of: lines)
    }
}
