// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
internal import NetlinkRecording

/// `netflags trace`.
struct TraceCommand: NetflagsCommand {
    static let configuration = CommandConfiguration(
        commandNamed: .trace,
        abstract: "Follow a packet over the recordings of many hosts, there and back.",
        usage: "netflags trace [options] --replay-hosts <dir> <address>",
        discussion: """
            The host that the packet starts from is named as its recording, without .rtnl: the one of --from, or that \
            has the address of --source, or the only one. The next hop is the host that has the address of the gateway, \
            or of the target, on the link of the interface.

            A row has the direction, the host, the interface that the packet comes in by, the one that it leaves by, \
            and the gateway. The last line says how it ends: delivered there and back, dropped at a host and why, \
            unrecorded (no recording has the address of the next hop), or undecided.

            Exit status: 0 delivered there and back, 1 dropped, 2 not recorded or not decided, 64 wrong usage.
            """
    )

    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @Flag(help: "One JSON object, with the hops.")
    var json = false

    @Option(word: "The host that the packet starts from.", "host")
    var from: String?

    @OptionGroup var recorded: RecordingListOptions

    @Argument(help: ArgumentHelp("The IPv4 or IPv6 address of the target.", valueName: "address"))
    var target: String

    func perform() throws -> ExitStatus {
        guard let address = IPAddress(target), !address.isUnspecified, address.zone == nil else {
            throw UsageError("\"\(target)\" is not an address without a zone: give one such as 192.0.2.1")
        }
        let options = try socket.options(isReplay: true)
        guard let recordings = try recorded.list() else {
            throw UsageError("no recordings: give the directory that has one of each host to --replay-hosts")
        }
        try UsageError.require(
            recordings.readingStandardInput < 2, "stdin can be read only once: give files for the others")
        let hosts = RecordedHosts(recordings)
        guard !hosts.isEmpty else { return .undetermined }
        var trace = Trace(
            of: address.unmapped, from: try hosts.start(from, options.sourceAddress), over: hosts)
        let end = trace.end(options)
        try Output.standard.deliver { buffer in
            if json {
                trace.writeJSON(end, to: &buffer)
            } else {
                trace.writeText(end, for: .standard, to: &buffer)
            }
        }
        return end.outcome.exitStatus
    }
}
