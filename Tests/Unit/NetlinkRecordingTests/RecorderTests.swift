// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestSupport
import Testing

@testable import NetlinkRecording

/// A quiet host: two ends of a cable, addresses, a gateway, rules, a neighbour.
private let hostScript = """
    ip link set lo up
    ip link add v0 type veth peer name v1
    sysctl -qw net.ipv6.conf.v0.accept_dad=0 net.ipv6.conf.v1.accept_dad=0 2>/dev/null || true
    ip link set v0 up; ip link set v1 up
    ip addr add 192.0.2.2/24 dev v0; ip addr add 2001:db8::2/64 dev v0 nodad
    ip route add default via 192.0.2.1 dev v0; ip -6 route add default via 2001:db8::1 dev v0
    ip route add 198.51.100.0/24 nexthop via 192.0.2.3 nexthop via 192.0.2.4
    ip nexthop add id 7 via 192.0.2.5 dev v0; ip route add 203.0.113.0/24 nhid 7
    ip rule add from 192.0.2.2 lookup 100 pref 500; ip -6 rule add from 2001:db8::2 lookup 100 pref 500
    ip route add unreachable 10.0.0.0/8
    ip neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev v0 nud permanent
    """

/// What `ip` counts, by the type of the messages.
private let countScripts: [(type: UInt16, script: String)] = [
    (16, "ip -o link"), (20, "ip -o addr"),
    (24, "ip -o -4 route show table all; ip -o -6 route show table all"),
    (28, "ip -o neigh show nud all"), (32, "ip -o -4 rule; ip -o -6 rule"), (104, "ip -o nexthop"),
]

/// Waits until link-local addresses are ready, so that the namespace is quiet from then on.
let settleScript = """
    for i in $(seq 200); do ip -6 addr show tentative | grep -q . || break; sleep 0.05; done
    """

private func record() throws -> (bytes: [UInt8], summary: RecordingSummary) {
    let file = try TemporaryFile()
    var recorder = try Recorder()
    var writer = try RecordingWriter(path: file.path)
    let summary = try recorder.record(into: &writer)
    try writer.finish()
    return (try readFile(file.path), summary)
}

private func counts(_ bytes: [UInt8]) -> [UInt16: Int] {
    readRecording(bytes).entries.filter { $0.annotation == nil }.reduce(into: [:]) {
        $0[$1.type, default: 0] += 1
    }
}

@Suite(.needsNetwork)
struct RecorderTests {
    @Test func `a recording of a quiet host has as many entries of each kind as ip shows`() throws {
        try LiveNetwork().run {
            try ShellCommand.check(hostScript)
            try ShellCommand.check(settleScript)
            let (bytes, summary) = try record()
            let counted = counts(bytes)
            for (type, script) in countScripts {
                #expect(counted[type, default: 0] == ShellCommand.lines(script), "\(script)")
                #expect(counted[type, default: 0] > 0, "\(script)")
            }
            #expect(summary.changingTables.isEmpty && summary.missingTables.isEmpty)
            #expect(summary.messages == counted.values.reduce(0, +))
            #expect(summary.bytes == UInt64(bytes.count))
        }
    }

    @Test func `a recording begins with its origin and ends with its end, and the tables are in order`()
        throws
    {
        try LiveNetwork().run {
            try ShellCommand.check(hostScript)
            let entries = readRecording(try record().bytes).entries
            #expect(entries.first?.annotation == .currentOrigin)
            #expect(entries.dropFirst(2).first?.annotation == .dumpBegins)
            #expect(entries.suffix(2).map(\.annotation) == [.dumpEnds, .end])
            let places = [16, 20, 28, 104, 24, 32, 80] as [UInt16]
            let order = entries.filter { $0.annotation == nil }.map { places.firstIndex(of: $0.type) ?? -1 }
            #expect(order == order.sorted() && order.first == 0)
            #expect(entries.contains { $0.annotation == .wirelessInterfaces([]) })
            #expect(entries.contains { $0.annotation == .cellularInterfaces([]) })
            #expect(entries.allSatisfy { !$0.isMalformed })
        }
    }

    @Test func `ip monitor reads a recording and prints each message, but no annotation`() throws {
        try LiveNetwork().run {
            try ShellCommand.check(hostScript)
            let file = try TemporaryFile(try record().bytes)
            let (status, output) = ShellCommand.run("ip -o monitor file \(file.path)")
            #expect(status == 0)
            for text in [
                "v0@v1", "192.0.2.2/24", "default via 192.0.2.1", "198.51.100.0/24", "id 7 via 192.0.2.5",
                "500:\tfrom 192.0.2.2 lookup 100", "ignore_routes_with_linkdown off",
                "unreachable 10.0.0.0/8", "02:00:00:00:00:01",
            ] {
                #expect(output.contains(text), "\(text) in \(output)")
            }
            for word in ["netflags", "malformed", "truncated", "nknown"] {
                #expect(!output.contains(word), "\(word) in \(output)")
            }
        }
    }

    @Test(.enabled(if: ShellCommand.has("rtmon"), "needs rtmon of iproute2"))
    func `a recording of rtmon is read whole, with its time stamps`() throws {
        try LiveNetwork().run {
            let file = try TemporaryFile()
            let before = ClockReading.now.time
            // rtmon says when it listens by writing the links that are there.
            try ShellCommand.check(
                """
                rtmon file \(file.path) all & P=$!
                for i in $(seq 200); do [ $(stat -c %s \(file.path)) -gt 24 ] && break; sleep 0.05; done
                ip addr add 10.9.8.7/32 dev lo; ip route add unreachable 10.0.0.0/8; ip rule add pref 5 lookup 100
                for i in $(seq 200); do ip monitor file \(file.path) | grep -q 'lookup 100' && break; sleep 0.05; done
                kill $P
                """)
            let (entries, error) = readRecording(try readFile(file.path))
            #expect(error == nil)
            #expect(entries.first?.type == 16)
            #expect(Set(entries.map(\.type)).isSuperset(of: [16, 20, 24, 32]))
            #expect(entries.allSatisfy { !$0.isMalformed && ($0.time.map { $0 >= before } ?? false) })
        }
    }

    @Test func `events are written with their times between the first dump and the closing one`() throws {
        try LiveNetwork().run {
            try ShellCommand.check(hostScript)
            try ShellCommand.check(settleScript)
            let file = try TemporaryFile()
            var recorder = try Recorder()
            var writer = try RecordingWriter(path: file.path)
            // The script starts when the first dump is on disk; its end stops the recorder.
            let script = ShellCommand(
                """
                for i in $(seq 2000); do [ -s \(file.path) ] && break; sleep 0.01; done
                ip route add 10.1.0.0/16 via 192.0.2.9; ip route del 198.51.100.0/24
                ip link set v0 down
                """)
            let summary = try recorder.record(
                into: &writer, until: RecordingStop(descriptor: script.descriptor))
            try writer.finish()
            #expect(script.finish() == (0, ""))
            let entries = readRecording(try readFile(file.path)).entries
            let begins = entries.indices.filter { entries[$0].annotation == .dumpBegins }
            let ends = entries.indices.filter { entries[$0].annotation == .dumpEnds }
            try #require(begins.count == 2 && ends.count == 2 && summary.overruns == 0)
            // The recorder can also have seen who made a change.
            let events = entries[(ends[0] + 1)..<begins[1]].filter { $0.annotation == nil }
            #expect(Set(events.map(\.type)).isSuperset(of: [16, 24, 25]))
            #expect(events.allSatisfy { $0.time != nil && $0.bytes[6] & 2 == 0 })
            // The closing dump shows changes without a notification, as `ip` does.
            let closing = entries[begins[1]...].filter { $0.annotation == nil }
            for (type, script) in countScripts where type != 28 {
                #expect(
                    closing.filter { $0.type == type }.count == ShellCommand.lines(script), "\(script)")
            }
        }
    }

    // Each entry was written: any user could push out a recording of months within minutes.
    @Test func `a flood of neighbours is left out, and a gateway that does not answer is not`() throws {
        try LiveNetwork().run {
            try ShellCommand.check(hostScript)
            try ShellCommand.check(settleScript)
            // The kernel does not find out by itself that nothing answers.
            try ShellCommand.check(
                "ip -6 neigh replace 2001:db8::1 lladdr 02:00:00:00:00:01 dev v0 nud permanent")
            let file = try TemporaryFile()
            var recorder = try Recorder(eventBuffer: 1_024)
            var writer = try RecordingWriter(path: file.path)
            let script = ShellCommand(
                """
                for i in $(seq 2000); do [ -s \(file.path) ] && break; sleep 0.01; done
                for n in 1 2 3; do for i in $(seq 100 250); do
                    echo "neigh replace 192.0.2.$i lladdr 02:00:00:00:0$n:07 dev v0 nud reachable"
                done; done | ip -batch -
                ip -6 neigh replace 2001:db8::1 lladdr 02:00:00:00:00:01 dev v0 nud reachable
                ip -6 neigh replace 2001:db8::1 dev v0 nud failed
                """)
            let stop = RecordingStop(descriptor: script.descriptor)
            let summary = try recorder.record(into: &writer, until: stop)
            try writer.finish()
            #expect(script.finish() == (0, ""))
            // A socket of its own: what is lost of neighbours is no loss of anything else.
            #expect(summary.overruns == 0)
            let neighbours = readRecording(try readFile(file.path)).entries.filter {
                $0.type == 28 && $0.bytes[6] & 2 == 0
            }
            // The family, and the state of `struct ndmsg`.
            #expect(neighbours.map { [$0.bytes[16], $0.bytes[24]] } == [[10, 0x20]])
        }
    }

    @Test func `a duration ends a recording of events`() throws {
        try LiveNetwork().run {
            let file = try TemporaryFile()
            var recorder = try Recorder()
            var writer = try RecordingWriter(path: file.path)
            _ = try recorder.record(into: &writer, until: RecordingStop(duration: .zero))
            try writer.finish()
            #expect(readRecording(try readFile(file.path)).entries.last?.annotation == .end)
        }
    }

    @Test func `lost notifications are marked, and a correct dump follows`() throws {
        try LiveNetwork().run {
            try ShellCommand.check(hostScript)
            let file = try TemporaryFile()
            var ends: [Int32] = [-1, -1]
            let setPipeSize: Int32 = 1_031
            try #require(pipe(&ends) == 0 && fcntl(ends[1], setPipeSize, 4_096) == 4_096)
            try #require(fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0)
            // The recorder's first dump does not fit into the pipe. While it waits for the script to read, the
            // notifications of a thousand routes stay unread. Only a dump can then have the last of them.
            let script = ShellCommand(
                """
                dd bs=1 count=100 if=/dev/fd/\(ends[0]) of=\(file.path) 2>/dev/null
                for i in $(seq 250); do for j in 1 2 3 4; do echo "route add 10.$j.$i.0/24 dev v0"; done; done \
                | ip -batch -
                cat /dev/fd/\(ends[0]) >>\(file.path) &
                for i in $(seq 400); do
                    ip monitor file \(file.path) 2>/dev/null | grep -q 10.4.250.0/24 && break; sleep 0.05
                done
                echo; wait
                """
            )
            close(ends[0])
            var recorder = try Recorder(eventBuffer: 1_024)
            var writer = RecordingWriter(descriptor: ends[1], path: "pipe")
            let summary = try recorder.record(
                into: &writer, until: RecordingStop(descriptor: script.descriptor))
            try writer.finish()
            close(ends[1])
            #expect(script.finish() == (0, "\n"))
            let entries = readRecording(try readFile(file.path)).entries
            #expect(summary.overruns > 0)
            let overrun = try #require(entries.lastIndex { $0.annotation == .overrun })
            #expect(entries[overrun...].contains { $0.annotation == .dumpBegins })
            let closing = entries[(entries.lastIndex { $0.annotation == .dumpBegins } ?? 0)...]
            #expect(closing.filter { $0.type == 24 }.count == ShellCommand.lines(countScripts[2].script))
        }
    }

    @Test func `what comes after the recorder has not looked for a second is a gap`() throws {
        try LiveNetwork().run {
            let file = try TemporaryFile()
            var recorder = try Recorder()
            _ = try recorder.takeSnapshot()
            var wait = RecordingWait(RecordingStop())
            try ShellCommand.check("ip link set lo down")
            recorder.lastLook = .now - .seconds(5)
            var writer = try RecordingWriter(path: file.path)
            #expect(try !recorder.recordEvents(into: &writer, &wait))
            try writer.finish()
            #expect(recorder.summary.overruns == 1)
            let entries = readRecording(try readFile(file.path)).entries
            let stalls = entries.compactMap { entry -> UInt64? in
                if case .stalled(let milliseconds)? = entry.annotation { milliseconds } else { nil }
            }
            #expect(stalls.count == 1 && stalls[0] >= 5_000)
            #expect(entries.last?.annotation == .dumpEnds)
        }
    }

    @Test func `a wait that finds nothing has looked, however long ago the last notification was`() throws {
        try LiveNetwork().run {
            let file = try TemporaryFile()
            var recorder = try Recorder()
            _ = try recorder.takeSnapshot()
            var wait = RecordingWait(RecordingStop())
            var look = SuspendingClock.now - .seconds(3_600)
            #expect(try wait.next(events: recorder.eventDescriptors, until: .now, &look) == .timeout)
            #expect(look.duration(to: .now) < .seconds(3_600))
            // Nothing has come since, and nothing is lost.
            recorder.lastLook = .now - .seconds(3_600)
            var writer = try RecordingWriter(path: file.path)
            #expect(try recorder.recordEvents(into: &writer, &wait))
            #expect(recorder.lastLook.duration(to: .now) < .seconds(3_600))
            try writer.finish()
            #expect(recorder.summary.overruns == 0)
        }
    }

    /// The mark was in the file, and the summary said that nothing was lost.
    @Test func `notifications lost during a dump are marked before it and counted`() throws {
        try LiveNetwork().run {
            try ShellCommand.check(hostScript)
            let file = try TemporaryFile()
            var recorder = try Recorder(eventBuffer: 1_024)
            try ShellCommand.check(
                """
                for i in $(seq 250); do for j in 1 2 3 4; do echo "route add 10.$j.$i.0/24 dev v0"; done; done \
                | ip -batch -
                """
            )
            var writer = try RecordingWriter(path: file.path)
            try recorder.recordDump(into: &writer)
            try writer.finish()
            #expect(recorder.summary.overruns == 1)
            let annotations = readRecording(try readFile(file.path)).entries.compactMap(\.annotation)
            // Who made a change can stand ahead of the notifications that arrived.
            let marks = annotations.filter { if case .requester = $0 { false } else { true } }
            #expect(marks.prefix(2) == [.overrun, .dumpBegins])
        }
    }
}
