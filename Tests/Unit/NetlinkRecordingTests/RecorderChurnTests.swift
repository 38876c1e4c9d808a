// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
internal import NetlinkReachability
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkRecording

@Suite(.needsNetwork)
struct RecorderChurnTests {
    /// Stable routes that no dump may miss unless it says so.
    private static let stable = 2_000
    /// Dumps of which one is not between two changes: far more than a loaded machine needs.
    private static let attempts = 5_000

    @Test func `during changes a dump is correct or marked, and correct after them`() throws {
        try LiveNetwork().run {
            try ShellCommand.check(
                "ip link set lo up; ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up"
            )
            try ShellCommand.check(settleScript)
            try ShellCommand.check(
                "for i in $(seq \(Self.stable)); do printf 'route add 2001:db8:1:%x::/64 dev v0\\n' $i; done | ip -6 -batch -"
            )
            let file = try TemporaryFile()
            let churn = ShellCommand(
                """
                while [ -e \(file.path) ]; do echo "route add 2001:db8:2::/64 dev v0"; \
                echo "route del 2001:db8:2::/64 dev v0"; done | ip -6 -batch -
                """)
            var recorder = try Recorder()
            var marked = 0
            // The changes start late and pause on a busy machine.
            for _ in 0..<Self.attempts where marked == 0 {
                let snapshot = try recorder.takeSnapshot()
                if snapshot.changingTables.contains(.init(.routes, family: .v6)) {
                    marked += 1
                } else {
                    try expectStableRoutes(snapshot)
                }
            }
            #expect(marked > 0, "each dump was between two changes of a route")
            unlink(file.path)
            #expect(churn.finish().status == 0)
            let snapshot = try recorder.takeSnapshot()
            #expect(snapshot.changingTables.isEmpty)
            try expectStableRoutes(snapshot)
        }
    }

    private func expectStableRoutes(
        _ snapshot: RecordedSnapshot,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        let file = try TemporaryFile()
        var writer = try RecordingWriter(path: file.path)
        try writer.append(snapshot)
        try writer.finish()
        let prefix: [UInt8] = [0x20, 0x01, 0x0d, 0xb8, 0, 1]
        let stable = readRecording(try readFile(file.path)).entries.filter { entry in
            entry.type == 24 && entry.bytes[16] == 10 && entry.bytes.count > 42
                && entry.bytes.indices.dropLast(6).contains {
                    entry.bytes[$0..<($0 + 6)].elementsEqual(prefix)
                }
        }
        #expect(stable.count == Self.stable, sourceLocation: location)
        #expect(Set(stable.map { Array($0.bytes[16...]) }).count == Self.stable, sourceLocation: location)
    }
}
