// SPDX-License-Identifier: Apache-2.0

import CBaseline
import NetlinkReachability
internal import NetlinkRecording
import RoutingModel

/// What a snapshot of a full routing table costs: its memory, its loading from the kernel and from a recording, and
/// lookups in it.
struct Snapshots {
    let host: Host
    /// The recording of the namespace, which is written first.
    let file: String

    func run() throws {
        try record()
        baseline_return_memory()
        let memory = Host.residentBytes
        let snapshot = try read()
        baseline_return_memory()
        let bytes = Double(Host.residentBytes - memory) / Double(snapshot.routeCount)
        try Row("memory a route", bytes, unit: "bytes", goal: .routeMemory).print()
        try load("kernel into a snapshot", .load) { try RecordedRouting.live().routing.snapshot }
        try load("recording into a snapshot", .replayLoad, read)
        try lookup(snapshot)
    }

    /// Measures the prediction of a change for a number of targets: their answers before it and after it.
    func predict(targets count: Int) throws {
        try record()
        let before = try NetworkState(Recording(path: file))
        let change = try NetworkState.Change("link set v0 down")
        var random = Random(seed: 7)
        let targets = (0..<count).map { _ in ReachabilityTarget.address(IPAddress(v4: random.nextAddress())) }
        let ours = Side("prediction") { count in
            for _ in 0..<count {
                keep(before.answers(for: targets))
                keep(try before.applying([change]).answers(for: targets))
            }
        }
        let load = Side("recording into a snapshot") { count in
            for _ in 0..<count { keep(try read()) }
        }
        try Duel(
            name: "a link set down, for \(count) targets", ours: ours, theirs: load, goal: .prediction,
            batch: 1, rounds: 8
        ).run()
    }

    private func record() throws {
        var recorder = try Recorder()
        let dump = try recorder.takeSnapshot()
        var writer = try RecordingWriter(path: file)
        try writer.append(dump)
        try writer.finish()
    }

    /// Loads the recording as `--replay` does.
    private func read() throws -> NetworkSnapshot {
        try RecordedRouting(RecordingStream(path: file)).routing.snapshot
    }

    private func load(_ name: String, _ goal: Goal, _ load: @escaping () throws -> NetworkSnapshot) throws {
        let ours = Side(name) { count in
            for _ in 0..<count { _ = try load() }
        }
        let bare = Side("C RTM_GETROUTE dump") { count in
            var checksum: UInt64 = 0
            for _ in 0..<count { try checked("dump routes", baseline_dump(host.socket, &checksum)) }
        }
        try Duel(name: "load all IPv4 routes", ours: ours, theirs: bare, goal: goal, batch: 1, rounds: 8)
            .run()
    }

    private func lookup(_ snapshot: NetworkSnapshot) throws {
        var random = Random(seed: 7)
        let keys = (0..<20_000).map { _ in random.nextAddress() }
        let routing = SnapshotRouting(snapshot)
        let ours = Side("snapshot") { count in
            var lookups = keys.prefix(count).map { RouteLookup(RouteQuery(destination: IPAddress(v4: $0))) }
            _ = routing.answer(&lookups, from: 0)
            for lookup in lookups { keep(try lookup.result.get()) }
        }
        let kernel = Side("C RTM_GETROUTE, FIB_MATCH") { count in
            // An address without a route is an answer too.
            for key in keys.prefix(count) { keep(baseline_route(host.socket, key, true)) }
        }
        try Duel(
            name: "random addresses", ours: ours, theirs: kernel, goal: .lookup, batch: keys.count,
            rounds: 8
        ).run()
    }
}

/// Routes as a border router has them: mostly /24, some shorter, hardly any longer, through 64 gateways.
///
/// The same for the same number of routes, on every machine.
enum RouteSet {
    /// How many of a hundred prefixes have each length.
    private static let shares: [(length: UInt32, share: UInt64)] = [
        (24, 59), (23, 10), (22, 10), (21, 5), (20, 5), (19, 4), (18, 2), (17, 1), (16, 1), (28, 1), (32, 2),
    ]
    private static let lengths = shares.flatMap { Array(repeating: $0.length, count: Int($0.share)) }

    /// Prints the lines for `ip -batch` that fill the main table.
    static func printBatch(count: Int) {
        var random = Random(seed: 42)
        var seen: Set<UInt64> = []
        while seen.count < count {
            let length = lengths[Int(random.next() % 100)]
            let address = random.nextAddress() & (.max << (32 - length))
            guard seen.insert(UInt64(address) << 8 | UInt64(length)).inserted else { continue }
            print("route add \(dotted(address))/\(length) via 192.0.2.\(2 + random.next() % 64)")
        }
    }
}
