// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
internal import NetlinkRecording
import SystemSupport

/// `netflags sockets`.
struct Sockets: NetflagsCommand {
    static let configuration = CommandConfiguration(
        commandNamed: .sockets,
        abstract: "Print what becomes of connected sockets.",
        usage: "netflags sockets [options]",
        discussion: """
            A line has the state, the protocol, the two ends, the interface, the process where /proc shows it, and \
            the reason. The states: viable, its packets leave; waiting, they do not now, and TCP repeats them; lost, \
            its address or interface is gone, so reconnect; local, the other end is this host. A better path is the \
            one that a new connection would take. The subflows of an MPTCP connection are below it, and it is viable \
            as long as one of them is.

            Exit status: 0 no listed socket is waiting or lost, 1 at least one is, 2 at least one could not be \
            evaluated, or the sockets could not be listed, 64 wrong usage.
            """
    )

    @Option(
        number: "Only the sockets of a process.", "pid",
        { try SocketText.number($0, "process", 1...Int32.max) })
    var pid: Int32?

    @Option(word: "Only sockets in a state, or with a better path.", "state")
    var state: SocketFilter?

    @Flag(help: "Go on, and print a line for each new socket and at each change.")
    var watch = false

    @Flag(help: "One JSON object a line.")
    var json = false

    @Flag(name: .shortAndLong, help: "No output, only the exit status.")
    var quiet = false

    func perform() throws -> ExitStatus {
        if quiet {
            try UsageError.refuse([("--watch", watch), ("--json", json)], because: "--quiet prints nothing")
        }
        let list = SocketList(source: .kernel, pid: pid, namesProcesses: !quiet || pid != nil)
        let lines = SocketLines(isJSON: json, isTimed: watch, for: .standard)
        if watch { try SocketsWatch(list: list, filter: state, lines: Locked(lines)).run() }
        return try evaluate(list, quiet ? nil : lines)
    }

    /// Evaluates the sockets while they are listed, so that their number needs no memory.
    private func evaluate(_ list: SocketList, _ lines: SocketLines?) throws -> ExitStatus {
        var (lines, status) = (lines, ExitStatus.success)
        var statuses = try SocketStatuses(list.source)
        try list.read { sockets in
            try Output.standard.deliver { buffer in
                for (socket, result) in zip(sockets, statuses.results(of: sockets)) {
                    guard state?.admits(result) ?? true else { continue }
                    status = status.worse(ExitStatus(isReachable: (try? result.get())?.isViable))
                    lines?.write(socket, result, to: &buffer)
                }
                lines?.flush(to: &buffer)
            }
        }
        let absence = "no \(pid == nil && state == nil ? "" : "such ")connected sockets"
        try Output.standard.deliver { lines?.writeAbsence(absence, to: &$0) }
        return status
    }
}

extension SocketFilter: ExpressibleByArgument {}
