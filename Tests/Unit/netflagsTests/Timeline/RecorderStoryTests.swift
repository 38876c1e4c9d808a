// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestNamespaces
import Testing

/// A recorder whose host has its clock set, its disk filled, its directory deleted, and its power cut.
@Suite(
    .enabled(
        if: RecorderStory.blocker == nil,
        "needs root, mounts and a C compiler: \(RecorderStory.blocker ?? "")")
)
struct RecorderStoryTests {
    @Test func `a replay has each line of a live watch, and a timeline has the gaps and no others`() throws {
        let story = try RecorderStory()
        try story.startRecorder()
        try story.change(2)
        try story.setClock(by: -3_600)
        try story.change(2)
        try story.setClock(by: 7_200)
        try story.change(2)
        try story.fillDisk()
        try story.change(2)
        try story.deleteDirectory()
        try story.change(2)
        try story.cutPower()
        try story.restart(clockBehindBy: 600)
        try story.change(2)
        let live = try story.end()

        let replay = try NetflagsProcess.run([
            "watch", "--json", "--replay", story.recording, RecorderStory.target,
        ])
        let replayed = replay.lines.compactMap { JSONValue($0) }
        #expect(replayed.map { $0["letters"] } == live.map { $0["letters"] }, "\(replay.output)\(live)")
        let times = replayed.compactMap { $0["time"]?.string }
        #expect(times == times.sorted())
        for mark in [
            "the clock was set back by 3", "the clock was set ahead by 7", "No space left on device",
            "No such file or directory", "not a netlink message", " s behind: the times",
        ] {
            #expect(replay.errors.split(separator: "\n").count { $0.contains(mark) } == 1, "\(replay.errors)")
        }

        let timeline = try NetflagsProcess.run(["timeline", "--json", story.recording, RecorderStory.target])
        let rows = timeline.lines.compactMap { JSONValue($0) }
        let gaps = rows.filter { $0["isRecorded"] == .bool(false) }.map { $0["reason"]?.string ?? "" }
        #expect(gaps.count == 3, "\(timeline.output)")
        for (gap, reason) in zip(
            gaps, ["No space left on device", "No such file or directory", "not a netlink message"])
        {
            #expect(gap.contains(reason))
        }
        // Neither the set clocks nor the one that is behind have made it longer.
        let (start, end) = (try #require(rows.first?["from"]), try #require(rows.last?["to"]))
        #expect((60...120).contains(start.seconds(to: end)), "\(timeline.output)")
    }
}

/// The host of a recorder, and what happens to it.
private final class RecorderStory {
    static let target = "198.51.100.7"

    /// Why there is no story here; `nil` where there is one.
    static let blocker: String? = {
        do {
            _ = try TestNamespace(.networkAndMounts).shell(
                "mount -t tmpfs tmpfs /run; command -v ${CC:-clang}")
            return nil
        } catch {
            return "\(error)"
        }
    }()

    /// The directory of the recordings, as processes outside of the namespace see it.
    var recording: String { "/proc/\(host.processIdentifier)/root\(disk)/recording" }

    private let host: TestNamespace
    private let folder: String
    private var watch: RunningNetflags
    private var rows: [JSONValue] = []
    private var markers: UInt8 = 0
    /// What is added to CLOCK_REALTIME, in seconds.
    private var clock = 0

    private var disk: String { folder + "/disk" }
    private var log: String { folder + "/log" }

    init() throws {
        host = try TestNamespace(.networkAndMounts)
        // Without an address of its own, no answer could arrive.
        try host.ip("addr add 192.0.2.2/32 dev lo")
        folder = try host.shell("mktemp -d /tmp/netflags-story-XXXXXX").trimmed
        // CLOCK_REALTIME and CLOCK_BOOTTIME are this machine's and the seconds in a file.
        try host.shell(
            """
            cd \(folder); mkdir disk; mount -t tmpfs -o size=2m tmpfs disk
            mount -t tmpfs tmpfs /run; cp /proc/sys/kernel/random/boot_id /run/boot
            echo 0 > clock; cat > clock.c <<'END'
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <stdio.h>
            #include <time.h>
            int clock_gettime(clockid_t clock, struct timespec *time) {
                static int (*real)(clockid_t, struct timespec *);
                if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
                int status = real(clock, time);
                long seconds = 0;
                FILE *file = clock == CLOCK_REALTIME ? fopen("\(folder)/clock", "r")
                    : clock == CLOCK_BOOTTIME ? fopen("\(folder)/uptime", "r") : NULL;
                if (file) {
                    if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
                    fclose(file);
                }
                time->tv_sec += seconds;
                return status;
            }
            END
            ${CC:-clang} -shared -fPIC -o clock.so clock.c -ldl
            """)
        watch = try RunningNetflags(["watch", "--json", Self.target], in: host)
        rows.append(try first())
    }

    deinit {
        _ = try? host.shell("[ ! -e \(folder)/pid ] || kill -9 $(cat \(folder)/pid); umount \(disk)")
        _ = try? host.shell("rm -r \(folder)")
    }

    private func first() throws -> JSONValue { try #require(try watch.row()) }

    // MARK: What happens

    func startRecorder() throws {
        try host.shell(
            """
            cd \(folder); LD_PRELOAD=$PWD/clock.so \(NetflagsProcess.path) record --keep 1M disk/recording \
            >log 2>&1 & echo $! > \(folder)/pid
            """)
        try waitForRecorder()
    }

    /// Makes the target reachable and unreachable by turns, and waits until that was seen and recorded.
    func change(_ count: Int) throws {
        for _ in 0..<count {
            try host.ip("route \(rows.count % 2 == 1 ? "add" : "del") local 198.51.100.0/24 dev lo")
            rows.append(try first())
            try waitForRecorder()
        }
    }

    /// Waits until a route that no target has is in the recording.
    private func waitForRecorder() throws {
        markers += 1
        try host.ip("route add blackhole 10.255.\(markers).0/24")
        let bytes: [UInt8] = [10, 255, markers, 0]
        try host.wait(until: "the route \(bytes) is recorded") {
            try host.shell("ls \(disk)/recording 2>/dev/null || true").split(separator: "\n").contains {
                name in
                (try? readRecordingFile("\(recording)/\(name)"))?.firstRange(of: bytes) != nil
            }
        }
    }

    private func wait(_ condition: String) throws {
        try host.wait(until: condition) { try host.run(["sh", "-c", condition]).status == 0 }
    }

    func setClock(by seconds: Int) throws {
        clock += seconds
        try host.shell("echo \(clock) > \(folder)/new; mv \(folder)/new \(folder)/clock")
        // The recorder notices it with the next notification.
        try waitForRecorder()
    }

    func fillDisk() throws {
        try host.shell("dd if=/dev/zero of=\(disk)/filler bs=1k count=4000 2>/dev/null || true")
        for number in 0..<200 where try host.run(["grep", "-q", "recording paused", log]).status != 0 {
            try host.ip(
                (0..<100).map { "route \(number % 2 == 0 ? "add" : "del") 10.1.\($0).0/24 dev lo" })
        }
        try wait("grep -q 'recording paused' \(log)")
        try host.shell("rm \(disk)/filler")
        try wait("grep -q 'recording resumed' \(log)")
        try waitForRecorder()
    }

    /// Deletes the directory, and keeps a copy of its files.
    func deleteDirectory() throws {
        try host.shell("cp -a \(disk)/recording \(disk)/kept; rm -r \(disk)/recording")
        try host.ip("route add blackhole 10.254.0.0/24")
        try wait("[ $(grep -c 'recording resumed' \(log)) = 2 ]")
        try waitForRecorder()
    }

    /// Kills the recorder, and leaves a block of zeros at the end of its last file.
    func cutPower() throws {
        try host.shell("kill -9 $(cat \(folder)/pid)")
        // The files of the new directory come after those of the old one.
        try host.shell(
            """
            cd \(disk)/recording; last=$(ls ../kept | tail -1 | tr -dc 0-9 | sed 's/^0*//')
            for file in $(ls -r); do
                number=$(echo $file | tr -dc 0-9 | sed 's/^0*//')
                mv $file $(printf 'netflags-%010d.rtnl' $((last + number)))
            done
            mv ../kept/* .; dd if=/dev/zero bs=512 count=1 2>/dev/null >> $(ls | tail -1)
            """)
    }

    /// Starts the host again with a clock that is behind, and a recorder on it.
    func restart(clockBehindBy seconds: Int) throws {
        try host.shell(
            "echo 01234567-89ab-cdef-0123-456789abcdef > /run/boot; mount --bind /run/boot /proc/sys/kernel/random/boot_id"
        )
        clock -= seconds
        // The host has been up for a minute.
        try host.shell(
            """
            echo \(clock) > \(folder)/clock
            echo $((60 - $(cut -d . -f 1 /proc/uptime))) > \(folder)/uptime
            """)
        try startRecorder()
    }

    /// Ends the recorder and the watch, whose lines it returns.
    func end() throws -> [JSONValue] {
        try host.shell("kill -TERM $(cat \(folder)/pid)")
        try wait("! kill -0 $(cat \(folder)/pid)")
        #expect(try watch.end(signal: SIGINT).signal == SIGINT)
        return rows
    }
}

extension String {
    fileprivate var trimmed: String { String(prefix { $0 != "\n" }) }
}
