// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import RoutingModel
import SystemSupport
import TestSupport
import Testing

@testable import NetlinkRecording

/// `netflags record --keep`, as a process that is killed, held up, and has its disk taken away.
@Suite(.needsNetwork, .needsNetflags, .serialized)
struct FlightRecorderTests {
    private let netflags = ShellCommand.netflags
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Waits in a script until a command succeeds, for some minutes at most.
    private static func wait(_ command: String) -> String {
        "for i in $(seq 20000); do \(command) && break; sleep 0.01; done; "
    }

    private var waitForDump: String { Self.wait("[ -s \(folder.path(1)) ]") }

    /// Routes that come and go.
    private static let storm = """
        storm() { for i in $(seq $1); do echo "route add 10.0.$((i % 250)).0/24 dev lo"; \
        echo "route del 10.0.$((i % 250)).0/24 dev lo"; done | ip -batch -; }

        """

    /// All annotations of the directory, and how many files end.
    private func annotations() throws -> [RecordingAnnotation?] {
        var stream = try RecordingStream(path: folder.path)
        var found: [RecordingAnnotation?] = []
        while let next = stream.next({ entry -> RecordingAnnotation?? in
            switch entry.content {
            case .annotation(let annotation): .some(annotation)
            case .fileEnd: .some(nil)
            case .message: nil
            }
        }) {
            if let next { found.append(next) }
        }
        return found
    }

    @Test func `a recorder that is killed in a storm leaves whole messages, and the next one continues`()
        throws
    {
        try LiveNetwork().run {
            // The storm is over once the recorder is. By then the limit has pushed out the first file. The pauses let
            // the recorder read less than a file at a time, and end the dump that a file begins with.
            try ShellCommand.check(
                """
                \(Self.storm) ip link set lo up; \(netflags) record --keep 1M \(folder.path) & P=$!
                \(waitForDump) while kill -0 $P 2>/dev/null; do storm 250; sleep 0.1; done & S=$!
                \(Self.wait("[ ! -e \(folder.path(1)) ]")) [ ! -e \(folder.path(1)) ]
                kill -9 $P; wait $P || true; wait $S
                """)
            let killed = try annotations()
            #expect(killed.contains(.continued))
            #expect(!killed.contains(.end))
            #expect(folder.diskUsage <= 1 << 20)
            let names = folder.names
            try ShellCommand.check("\(netflags) record --keep 1M --duration 0 \(folder.path)")
            let both = try annotations()
            #expect(both.last == .end)
            #expect(folder.names.contains(where: names.contains), "none of \(names) is left")
        }
    }

    @Test(.enabled(if: ShellCommand.run("unshare -m true").status == 0, "needs a mount namespace"))
    func `a full disk is stated in the recording, which resumes once there is space`() throws {
        let log = try TemporaryFile()
        try LiveNetwork().run {
            // The messages of the recorder are the steps of the script.
            try ShellCommand.check(
                """
                ip link set lo up; unshare -m sh -e <<'END'
                mount -t tmpfs -o size=512k tmpfs \(folder.path); cd \(folder.path)
                (\(Self.storm) \(netflags) record --keep 1M d 2>\(log.path) & P=$!
                \(Self.wait("[ -s d/\(RecordingDirectory.name(1)) ]"))
                dd if=/dev/zero of=filler bs=1k count=600 2>/dev/null || true
                storm 300 & S=$!
                \(Self.wait("grep -q 'recording paused' \(log.path)")) rm filler; \(Self.wait("grep -q 'recording resumed' \(log.path)"))
                wait $S; ip route add 10.9.9.0/24 dev lo; kill -TERM $P; wait $P)
                grep -q 'No space left on device' \(log.path)
                [ $(\(netflags) watch --replay d default 2>&1 | grep -c 'could not write: No space left') = 1 ]
                \(netflags) --replay d --json 10.9.9.9 | grep -q '"interface":"lo"'
                END
                """)
        }
    }

    @Test func `a directory that vanishes is created again, and the recording says so`() throws {
        try LiveNetwork().run {
            try ShellCommand.check(
                """
                \(netflags) record --keep 1M \(folder.path) 2>/dev/null & P=$!
                \(waitForDump) rm -r \(folder.path); ip addr add 10.9.8.7/32 dev lo
                \(waitForDump) kill -TERM $P; wait $P
                """)
            let annotations = try annotations()
            #expect(annotations.contains(.unwritten(number: ENOENT)))
            #expect(annotations.last == .end)
        }
    }

    @Test func `a recorder that is held up states its loss, and has the network of after it`() throws {
        try LiveNetwork().run {
            // Five thousand notifications of so many nexthops do not fit into the socket's buffer.
            try ShellCommand.check(
                """
                ip link set lo up; \(netflags) record --keep 4M \(folder.path) & P=$!
                \(waitForDump) kill -STOP $P; N=$(printf ' nexthop dev lo%.0s' $(seq 150))
                for i in $(seq 2500); do
                echo "route add 10.0.$((i % 250)).0/24$N"; echo "route del 10.0.$((i % 250)).0/24"
                done | ip -batch -
                ip route add 10.9.9.0/24 dev lo; kill -CONT $P
                kill -TERM $P; wait $P
                """)
            #expect(try annotations().contains(.overrun))
            let routing = try RecordedRouting(lastFile())
            #expect(routing.routing.snapshot.routes.contains { $0.destination.description == "10.9.9.0/24" })
        }
    }

    private func lastFile() throws -> RecordingStream {
        try RecordingStream(path: "\(folder.path)/\(folder.names.last ?? "")")
    }

    @Test func `the machine's sleep is stated, and a dump follows`() throws {
        try LiveNetwork().run {
            var wake: [Int32] = [-1, -1]
            try #require(pipe(&wake) == 0)
            let (readEnd, writeEnd) = (wake[0], wake[1])
            // The machine wakes up as soon as the recorder waits, and the recording ends after that.
            let asleep = SleepCounter()
            write(writeEnd, [1], 1)
            var recorder = try Recorder()
            var rotation = try RecordingRotation(path: folder.path, limit: 1 << 20)
            let sleep = SleepWatch(descriptor: readEnd) { asleep.next() }
            _ = try recorder.record(
                into: &rotation, until: RecordingStop(descriptor: asleep.stop), sleep: sleep)
            close(writeEnd)
            let annotations = try annotations()
            let place = try #require(annotations.firstIndex(of: .suspended(milliseconds: 5_000)))
            #expect(annotations[place...].contains(.dumpBegins))
            #expect(annotations.last == .end)
        }
    }

    @Test func `the machine's sleep is stated in a single file too`() throws {
        try LiveNetwork().run {
            var wake: [Int32] = [-1, -1]
            try #require(pipe(&wake) == 0)
            defer { close(wake[1]) }
            let asleep = SleepCounter()
            write(wake[1], [1], 1)
            let file = try TemporaryFile()
            var recorder = try Recorder()
            var writer = try RecordingWriter(path: file.path)
            let sleep = SleepWatch(descriptor: wake[0]) { asleep.next() }
            _ = try recorder.record(
                into: &writer, until: RecordingStop(descriptor: asleep.stop), sleep: sleep)
            let annotations = readRecording(try readFile(file.path)).entries.compactMap(\.annotation)
            let place = try #require(annotations.firstIndex(of: .suspended(milliseconds: 5_000)))
            // One dump for the sleep, and the closing one.
            #expect(annotations[place...].count { $0 == .dumpBegins } == 2)
            #expect(annotations.last == .end)
        }
    }

    // The route was gone for two seconds, and for no time in the recording.
    @Test func `a loss while the recorder is stopped is a gap`() throws {
        try LiveNetwork().run {
            let (status, output) = ShellCommand.run(
                """
                ip link add v0 type veth peer name v1; ip link set v1 up; ip link set v0 up
                ip addr add 192.0.2.1/24 dev v0; ip route add default via 192.0.2.254
                \(netflags) record --keep 1M \(folder.path) & P=$!
                \(waitForDump) sleep 1.2; kill -STOP $P; ip route del default; sleep 2
                ip route add default via 192.0.2.254
                kill -CONT $P; ip addr add 10.9.8.7/32 dev lo; sleep 0.6; kill -TERM $P; wait $P
                \(netflags) timeline --json \(folder.path) default
                """)
            #expect(status == 0)
            #expect(output.contains("\"isRecorded\":false"), "\(output)")
            #expect(output.contains("stalled"), "\(output)")
        }
        let stalls = try annotations().compactMap { annotation -> UInt64? in
            if case .stalled(let milliseconds)? = annotation { milliseconds } else { nil }
        }
        #expect(stalls.contains { $0 >= 2_000 })
    }

    @Test func `a recorder that has just begun is not one without events`() throws {
        try LiveNetwork().run {
            let (_, output) = ShellCommand.run(
                """
                \(netflags) record --keep 1M \(folder.path) & P=$!
                \(waitForDump) \(netflags) timeline \(folder.path) 192.0.2.1 2>&1; kill -TERM $P; wait $P
                """)
            #expect(!output.contains("holds no time"), "\(output)")
        }
    }

    @Test(
        .enabled(
            if: !ProcessResources.isSanitized,
            "the thread sanitizer keeps its memory in files, which the limit of this test cuts"))
    func `a picture that reaches the largest size of a file leaves none behind`() throws {
        try LiveNetwork().run {
            let (_, output) = ShellCommand.run(
                """
                cd \(folder.path); \(netflags) record --duration 0.2 f.rtnl >/dev/null
                (ulimit -f 1; \(netflags) timeline --svg f.svg f.rtnl default >/dev/null 2>&1; echo $?); ls
                """)
            #expect(output == "2\nf.rtnl\n")
        }
    }

    @Test(arguments: ["--keep 64M -", "--keep 10 d", "--keep 1X d", "--keep= d", "/tmp"])
    func `wrong sizes, standard output, and a directory without a size are usage errors`(arguments: String) {
        #expect(ShellCommand.run("\(netflags) record \(arguments)").status == 64)
    }
}

/// A machine that sleeps 5 s once, after which the recording ends.
private final class SleepCounter: @unchecked Sendable {
    // Used by the recorder's thread only.
    private var count = 0
    private var ends: [Int32] = [-1, -1]

    init() {
        pipe(&ends)
    }

    deinit {
        for end in ends { close(end) }
    }

    var stop: Int32 { ends[0] }

    func next() -> Duration {
        count += 1
        guard count > 1 else { return .zero }
        write(ends[1], [1], 1)
        return .seconds(5)
    }
}
