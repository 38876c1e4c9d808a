// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Glibc

/// `flags()` against the same query to other libraries.
///
/// libnl is part of the C side. The others are programs in the folder that the environment variable `PEERS` names:
/// what is not there is left out, with a line that says so.
enum Peers {
    /// The programs in the folder, and what provides them.
    private static let programs = [
        (file: "glib", name: "GLib g_network_monitor_can_reach", needs: "libglib2.0-dev"),
        (file: "pyroute2-get", name: "pyroute2 route('get')", needs: "pyroute2, from pip"),
    ]

    static func run() throws {
        guard let socket = baseline_libnl_open() else { throw Failure("no socket of libnl") }
        try run(
            against: Side("libnl rtnl_route_lookup") { count in
                try checked("rtnl_route_lookup", baseline_libnl_lookups(socket, Host.behind, Int32(count)))
            }, rounds: 200)
        for (file, name, needs) in programs {
            guard let folder = variable("PEERS"), case let path = "\(folder)/\(file)", access(path, X_OK) == 0
            else {
                print("skipped: \(name); install \(needs)")
                continue
            }
            try run(against: Side(selfTimed: name) { try nanoseconds(path, $0) }, rounds: 20)
        }
    }

    private static func run(against theirs: Side, rounds: Int) throws {
        try Duel(
            name: "peers, address behind a gateway", ours: try Queries.flags(Host.behind),
            theirs: theirs,
            batch: 100, rounds: rounds
        ).run()
    }

    /// Runs a program that asks a number of times, and returns the nanoseconds by its own clock.
    private static func nanoseconds(_ path: String, _ count: Int) throws -> Double {
        guard let output = popen("'\(path)' \(dotted(Host.behind)) \(count)", "r") else {
            throw Failure("start \(path)", number: errno)
        }
        var line = [CChar](repeating: 0, count: 64)
        let hasLine = fgets(&line, Int32(line.count), output) != nil
        guard pclose(output) == 0, hasLine else { throw Failure("\(path) did not answer") }
        return atof(line)
    }
}
