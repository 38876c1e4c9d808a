// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

/// Short here, and with as many rounds and commands as one likes with `make storm`.
@Suite(.needs(.veth))
struct StormTests {
    private static let rounds = number("STORM_ROUNDS") ?? 2
    private static let commands = number("STORM_COMMANDS") ?? 1_000
    /// So much more memory a round may leave than the one before, in bytes: an allocator's grain.
    private static let slack = 2 << 20

    private static func number(_ name: String) -> Int? {
        getenv(name).flatMap { Int(String(cString: $0)) }
    }

    @Test func `the last lines are true after each round, none repeats another, and memory stays`()
        throws
    {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24", "2001:db8::1/64")
        try host.wire("w1", "203.0.113.1/24")
        var storm = Storm(seed: UInt64(Self.number("STORM_SEED") ?? 1))
        let watch = try RunningNetflags(["watch", "--json"] + Storm.targets, in: host)
        var lines = WatchedLines(watch, host)
        try lines.catchUp()
        var memory: [Int] = []
        for round in 1...Self.rounds {
            for part in storm.commands(Self.commands) { try host.ip(part) }
            try lines.catchUp()
            #expect(lines.repeats == 0, "round \(round)")
            memory.append(watch.residentBytes)
        }
        #expect(lines.count > Storm.targets.count)
        // The first round fills caches; from then on nothing grows.
        if let first = memory.dropFirst().first, let last = memory.last {
            #expect(last <= first + Self.slack, "\(memory)")
        }
        let result = try watch.end(signal: SIGINT)
        #expect(result.signal == SIGINT)
        #expect(result.errors == "")
        try lines.readRest()
        #expect(lines.repeats == 0)
    }
}

/// Random commands for `ip -batch` that all succeed, whatever came before them.
private struct Storm {
    static let targets =
        ["192.0.2.9", "192.0.2.1", "203.0.113.9", "198.51.100.1", "default", "127.0.0.1", "2001:db8:f::1"]
        + (0..<16).map { "10.0.\($0).1" }
    private static let partSize = 500

    private var random: SeededGenerator

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    /// So many commands, in parts that one `ip` carries out in some seconds.
    mutating func commands(_ count: Int) -> [[String]] {
        var lines: [String] = []
        while lines.count < count { lines += next() }
        return stride(from: 0, to: lines.count, by: Self.partSize).map { start in
            Array(lines[start..<min(start + Self.partSize, lines.count)])
        }
    }

    /// What cannot fail: `replace`, or what undoes itself.
    private mutating func next() -> [String] {
        let third = Int.random(in: 0..<16, using: &random)
        let way = ["via 192.0.2.254", "dev w1", "via 203.0.113.254"].randomElement(using: &random) ?? ""
        return switch Int.random(in: 0..<100, using: &random) {
        case 0: bounce("w0", ["192.0.2.1/24"])
        case 1: bounce("w1", ["203.0.113.1/24"])
        case 2: ["addr add 10.0.\(third).1/32 dev lo", "addr del 10.0.\(third).1/32 dev lo"]
        case 3: ["rule add pref 9 to 10.0.\(third).0/24 prohibit", "rule del pref 9"]
        case 4..<8: ["route replace default \(way)"]
        case 8..<12: ["route replace default \(way)", "route del default"]
        case 12..<18: ["route replace 2001:db8:f::/48 dev w1-far", "route del 2001:db8:f::/48"]
        case 18..<50: ["route replace 10.0.\(third).0/24 \(way)"]
        case 50..<80: ["route replace 10.0.\(third).0/24 \(way)", "route del 10.0.\(third).0/24"]
        default: ["route replace 172.16.\(third).0/24 \(way)"]
        }
    }

    /// Sets a link down and up, or takes its addresses and gives them back.
    private mutating func bounce(_ link: String, _ addresses: [String]) -> [String] {
        guard Bool.random(using: &random) else { return ["link set \(link) down", "link set \(link) up"] }
        return addresses.flatMap { ["addr del \($0) dev \(link)", "addr add \($0) dev \(link)"] }
    }
}

/// What `netflags watch` has printed so far.
private struct WatchedLines {
    private let watch: RunningNetflags
    private let host: TestNamespace
    private(set) var count = 0
    private(set) var repeats = 0
    private var last: [String: String] = [:]

    init(_ watch: RunningNetflags, _ host: TestNamespace) {
        self.watch = watch
        self.host = host
    }

    /// Reads lines until the last of each target says what a process does that has just been started.
    ///
    /// Each line has to come within a minute: one that is missing ends the test.
    mutating func catchUp() throws {
        while last.count < Storm.targets.count { try readLine() }
        // Links come back in their own time: what is true can change once more while it is asked for.
        while try last != fresh() { try readLine() }
    }

    /// Reads what was printed until the end, after which everything still has to be true.
    mutating func readRest() throws {
        while let row = try watch.row() { try note(row) }
        #expect(try last == fresh())
    }

    private mutating func readLine() throws {
        try note(try #require(try watch.row()))
    }

    private mutating func note(_ row: JSONValue) throws {
        let target = try #require(row["target"]?.string)
        let letters = try #require(row["letters"]?.string)
        count += 1
        if last.updateValue(letters, forKey: target) == letters { repeats += 1 }
    }

    private func fresh() throws -> [String: String] {
        let check = try RunningNetflags(["check", "--json"] + Storm.targets, in: host)
        var flags: [String: String] = [:]
        while let row = try check.row() {
            flags[try #require(row["target"]?.string)] = try #require(row["letters"]?.string)
        }
        _ = try check.end()
        return flags
    }
}
