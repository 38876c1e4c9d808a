// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import Testing

@Suite(.needs(.veth))
struct WatchedStoryTests {
    private static let targets = ["default", "192.0.2.9", "198.51.100.1", "203.0.113.1", "2001:db8::1"]

    @Test func `each line of watch is one of watch --replay, with the same flags and in the same order`()
        throws
    {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        try host.wire("w1", "203.0.113.1/24")
        try host.ip("route add default via 203.0.113.254")
        let folder = try ScratchFolder()
        let recorder = try RunningNetflags(["record", "--keep", "8M", folder.path], in: host)
        try host.wait(until: "the dump is recorded") { folder.size > 0 }
        let watch = try RunningNetflags(["watch", "--json"] + Self.targets, in: host)
        var rows: [JSONValue] = []
        var changes: UInt8 = 0
        func expect(
            _ count: Int,
            after command: String? = nil,
            at location: SourceLocation = #_sourceLocation
        ) throws {
            if let command { try host.ip(command) }
            for _ in 0..<count { rows.append(try #require(try watch.row(), sourceLocation: location)) }
            guard command != nil else { return }
            // A recording that grows can have grown by a late notification of an earlier step. The notification of this
            // route, which no target has, comes after those of the step.
            changes += 1
            try host.ip("route add blackhole 10.255.\(changes).0/24")
            try host.wait(until: "the change is recorded") { folder.contains([10, 255, changes, 0]) }
        }
        try expect(5)
        // No step undoes the one before: a recorder that is held up can find two steps at once.
        try expect(1, after: "link set w0-far down")
        try expect(2, after: "route del default")
        try expect(1, after: "link set w0-far up")
        try expect(2, after: "route add default via 203.0.113.254")
        try expect(1, after: "rule add to 198.51.100.0/24 blackhole")
        try expect(1, after: "link set w0 down")
        try expect(1, after: "rule del to 198.51.100.0/24 blackhole")
        // The address expires, and the default route with it.
        try expect(3, after: "addr change 203.0.113.1/24 dev w1 valid_lft 1 preferred_lft 1")
        #expect(try watch.end(signal: SIGINT).signal == SIGINT)
        #expect(try recorder.end(signal: SIGINT).status == 0)

        let result = try NetflagsProcess.run(["watch", "--json", "--replay", folder.path] + Self.targets)
        #expect(result.status == 0)
        #expect(result.errors == "")
        let replayed = result.lines.compactMap { JSONValue($0) }
        // The place of each row's line, after that of the row before it of the same target.
        var places: [Int] = []
        for (number, row) in rows.enumerated() {
            let before = rows[..<number].lastIndex { $0["target"] == row["target"] }.map { places[$0] } ?? -1
            let place = replayed.indices.dropFirst(before + 1).first { place in
                ["target", "letters", "reason", "gateway", "interface", "error"].allSatisfy { key in
                    replayed[place][key] == row[key]
                }
            }
            places.append(try #require(place, "\(row) is not in \(result.output)"))
        }
        // Lines of one burst can be in any order; those of the first results are in that of the targets.
        for (number, row) in rows.enumerated() {
            let time = try #require(row["time"])
            for later in rows.indices.dropFirst(number) {
                guard try time.seconds(to: #require(rows[later]["time"])) > 1 else { continue }
                #expect(places[number] < places[later])
            }
        }
    }
}

// A folder for one recorder.

extension ScratchFolder {
    /// The file that a short recording is in.
    private var first: String { path + "/netflags-0000000001.rtnl" }

    /// The length of the recording.
    fileprivate var size: Int {
        var status = stat()
        return stat(first, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Whether the recording has these bytes, such as those of an address.
    fileprivate func contains(_ bytes: [UInt8]) -> Bool {
        (try? readRecordingFile(first))?.firstRange(of: bytes) != nil
    }
}
