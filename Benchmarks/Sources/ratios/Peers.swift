// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Duel
import Glibc
import NetlinkReachability

/// `flags()` against the same question to other libraries.
///
/// libnl is part of the C side. The others run in processes of their own, as programs in the folder that the
/// environment variable `PEERS` names: what is not there is left out, with a line that says so.
struct Peers {
    /// An address behind the gateway of the namespace.
    private static let address: UInt32 = 0xc633_6409

    /// The programs in the folder, and what provides them.
    private static let programs = [
        (file: "glib", name: "GLib g_network_monitor_can_reach", needs: "libglib2.0-dev"),
        (file: "pyroute2-get", name: "pyroute2 route('get')", needs: "pyroute2, from pip"),
    ]

    func duels() throws -> [Duel] {
        let target = IPAddress(Self.address)
        let reachability = try NetworkReachability(address: target)
        let ours = Side("flags()") { count in
            for _ in 0..<count { keep(try reachability.flags()) }
        }
        var duels = try libnl().map { side in
            Duel("peers, address behind a gateway", ours: ours, theirs: side, batch: 20, rounds: 200)
        }
        for (file, name, needs) in Self.programs {
            guard let folder = getenv("PEERS"), case let path = "\(String(cString: folder))/\(file)",
                access(path, X_OK) == 0
            else {
                print("skipped: \(name); install \(needs)")
                continue
            }
            let peer = try Peer(path, arguments: [target.description])
            let theirs = Side(selfTimed: name, nanoseconds: peer.nanoseconds)
            duels.append(
                Duel("peers, address behind a gateway", ours: ours, theirs: theirs, batch: 20, rounds: 200))
        }
        return duels
    }

    private func libnl() throws -> [Side] {
        guard let asked = baseline_libnl_open(false), let cached = baseline_libnl_open(true) else {
            throw BaselineFailure.noMemory(for: "a socket of libnl")
        }
        return [
            Side("libnl rtnl_route_lookup") { count in
                try checked("rtnl_route_lookup", baseline_libnl_lookups(asked, Self.address, Int32(count)))
            },
            Side("libnl, a walk over its cache") { count in
                try checked(
                    "search libnl's cache", baseline_libnl_matches(cached, Self.address, Int32(count)))
            },
        ]
    }
}

/// A program that asks another library, with its own clock: it reads how often and prints how long that took.
private final class Peer {
    private let path: String
    private let input: UnsafeMutablePointer<FILE>
    private let output: UnsafeMutablePointer<FILE>

    /// Starts the program and waits for its first line, its answer.
    init(_ path: String, arguments: [String]) throws {
        self.path = path
        let (toChild, fromChild) = (try Self.makePipe(), try Self.makePipe())
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toChild[0], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, fromChild[1], STDOUT_FILENO)
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        // It ends by itself at the end of its input.
        var child = pid_t()
        try checked("start \(path)", -posix_spawn(&child, path, &actions, nil, &words, environ))
        close(toChild[0])
        close(fromChild[1])
        guard let input = fdopen(toChild[1], "w"), let output = fdopen(fromChild[0], "r") else {
            throw BaselineFailure.noMemory(for: "a stream")
        }
        (self.input, self.output) = (input, output)
        guard try readNumber() == 1 else {
            throw BaselineFailure(what: "reach the target by \(path)", number: ENETUNREACH)
        }
    }

    /// A pipe that no other child inherits, which would keep it open.
    private static func makePipe() throws -> [Int32] {
        var ends: [Int32] = [0, 0]
        try checked("make a pipe", pipe(&ends) == 0 ? 0 : -errno)
        for end in ends { try checked("set FD_CLOEXEC", fcntl(end, F_SETFD, FD_CLOEXEC) == 0 ? 0 : -errno) }
        return ends
    }

    deinit {
        fclose(input)
        fclose(output)
    }

    /// Asks a number of times, and returns the nanoseconds by the clock of the program.
    func nanoseconds(_ count: Int) throws -> Double {
        fputs("\(count)\n", input)
        fflush(input)
        return try readNumber()
    }

    private func readNumber() throws -> Double {
        var line = [CChar](repeating: 0, count: 64)
        guard fgets(&line, Int32(line.count), output) != nil else {
            throw BaselineFailure(what: "read from \(path)", number: EPIPE)
        }
        return atof(line)
    }
}
