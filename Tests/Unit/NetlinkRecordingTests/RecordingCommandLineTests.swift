// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestSupport
import Testing

@testable import NetlinkRecording

/// `netflags record`, as a process.
@Suite(.needsNetwork, .needsNetflags)
struct RecordingCommandLineTests {
    private let netflags = ShellCommand.netflags

    @Test func `a recording on standard output equals one in a file, except for the time`() throws {
        try LiveNetwork().run {
            let file = try TemporaryFile()
            let piped = try TemporaryFile()
            try ShellCommand.check("ip link set lo up; \(netflags) record \(file.path)")
            try ShellCommand.check("\(netflags) record - 2>/dev/null | cat > \(piped.path)")
            let (first, second) = (try readFile(file.path), try readFile(piped.path))
            let (entries, others) = (readRecording(first).entries, readRecording(second).entries)
            #expect(first.count == second.count)
            #expect(entries.map(\.annotation?.kind) == others.map(\.annotation?.kind))
            #expect(entries.map(\.type) == others.map(\.type))
        }
    }

    @Test(arguments: ["INT", "TERM"])
    func `a signal ends a recording of events with its closing dump`(name: String) throws {
        try LiveNetwork().run {
            let file = try TemporaryFile()
            try ShellCommand.check(
                """
                env --default-signal=INT,TERM \(netflags) record \(file.path) --events & P=$!
                for i in $(seq 400); do [ -s \(file.path) ] && break; sleep 0.05; done
                ip addr add 10.9.8.7/32 dev lo; kill -\(name) $P; wait $P
                """
            )
            let entries = readRecording(try readFile(file.path)).entries
            #expect(entries.last?.annotation == .end)
            #expect(entries.filter { $0.annotation == .dumpBegins }.count == 2)
            #expect(entries.contains { $0.type == 20 && $0.bytes[6] & 2 == 0 })
        }
    }

    @Test(
        .enabled(
            if: dlsym(nil, "__tsan_init") == nil,
            "the thread sanitizer keeps its memory in files, which the limit of this test cuts"
        )
    )
    func `a full file system leaves whole messages and an error message`() throws {
        try LiveNetwork().run {
            let file = try TemporaryFile()
            let script = "ulimit -f 4; trap '' XFSZ; \(netflags) record \(file.path)"
            try ShellCommand.check("for i in 1 2 3 4; do ip link add a$i type veth peer name b$i; done")
            let (status, output) = ShellCommand.run("bash -c \"\(script)\"")
            #expect(status == 2)
            #expect(output.contains(String(cString: strerror(EFBIG))), "\(output)")
            let bytes = try readFile(file.path)
            let (entries, error) = readRecording(bytes)
            #expect(error == nil && entries.count > 3 && bytes.count <= 4_096)
            #expect(entries.last?.annotation == nil)
        }
    }

    @Test(
        .enabled(
            if: dlsym(nil, "__tsan_init") == nil,
            "the thread sanitizer keeps its memory in files, which the limit of this test cuts"
        )
    )
    func `a new file whose first write fails is removed, and one that was there stays`() throws {
        let file = try TemporaryFile()
        let new = "\(file.path).new"
        for path in [new, file.path] {
            let (status, output) = ShellCommand.run("bash -c 'ulimit -f 0; \(netflags) record \(path)'")
            #expect(status == 2)
            #expect(output.contains(String(cString: strerror(EFBIG))), "\(output)")
        }
        #expect(access(new, F_OK) != 0 && errno == ENOENT)
        #expect(access(file.path, F_OK) == 0)
        unlink(new)
    }

    @Test(arguments: [("/nonexistent/file", 2), ("/dev/full", 2), ("--duration=-1 /dev/null", 64), ("", 64)])
    func `a failed recording ends with its status and one sentence`(arguments: String, expected: Int32) {
        let (status, output) = ShellCommand.run("\(netflags) record \(arguments)")
        #expect(status == expected, "\(output)")
        #expect(!output.isEmpty)
        #expect(expected == 64 || output.hasPrefix("netflags: ") && output.filter { $0 == "\n" }.count == 1)
    }

    @Test func `the summary can be one JSON object`() throws {
        let file = try TemporaryFile()
        let (status, output) = ShellCommand.run("\(netflags) record --json \(file.path)")
        #expect(status == 0)
        #expect(output.hasPrefix(#"{"messages":"#) && output.hasSuffix("}\n"))
        #expect(output.contains(#""bytes":\#(try readFile(file.path).count),"#))
    }
}

extension RecordingAnnotation {
    /// The number of its kind.
    fileprivate var kind: UInt8 { payload[10] }
}
