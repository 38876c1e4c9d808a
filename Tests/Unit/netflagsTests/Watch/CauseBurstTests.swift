// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import NetlinkReachability
import TestNamespaces
import TestSupport
import Testing

/// Bursts of random changes by programs that are known, recorded and watched at once: the event that is named for a
/// changed answer is that of the program which changed it.
///
/// `CAUSES_SEED` names other networks, `TEST_ROUNDS=all` makes more bursts. Changes of reports are tried with a seed
/// alone: whether an answer comes in also changes while an address is tentative, which no program asks for.
@Suite(.needs(.veth, .nexthops))
struct CauseBurstTests {
    private static let seed = getenv("CAUSES_SEED").flatMap { UInt64(String(cString: $0)) } ?? 5_100

    @Test(arguments: getenv("CAUSES_SEED") == nil ? ["flags"] : ["flags", "report"])
    func `of the changes of a burst the one is named that changed the answer`(changes: String) throws {
        let bursts = try Bursts(changes: changes, seed: Self.seed)
        for _ in 0..<Rounds.of(100) { try bursts.run() }
        let found = try bursts.finish()
        print("bursts: \(changes), CAUSES_SEED=\(Self.seed): \(found)")
        #expect(found.live.count >= Rounds.of(100) / 2 && found.recorded.count >= found.live.count / 2)
        #expect(found.recorded.wrong.isEmpty, "\(found.recorded.wrong.prefix(4).joined(separator: "\n"))")
        #expect(found.recorded.named == found.recorded.count)
        #expect(found.live.wrong.isEmpty, "\(found.live.wrong.prefix(4).joined(separator: "\n"))")
        #expect(4 * found.live.named >= 3 * found.live.count)
    }
}

/// A network in which bursts of changes are made.
private final class Bursts {
    /// What became of the causes of changes.
    struct Causes: CustomStringConvertible {
        var count = 0
        /// How many name one event.
        var named = 0
        var wrong: [String] = []

        var description: String { "\(count) changes, \(named) with one event, \(wrong.count) wrong" }
    }

    /// A change, and the answers after it.
    private struct Step {
        let words: String
        let process: Double
        let answers: [String: TestNamespaces.Answer]
    }

    private static let targets = [
        "default", "100.64.0.1", "10.1.0.1", "10.2.0.1", "10.3.0.1", "203.0.113.9", "203.0.113.1",
        "2001:db8:9::1", "2001:db8:1::9",
    ]
    /// The target whose answer changes at the end of each burst.
    private static let marker = "10.255.0.1"

    private let host: TestNamespace
    private let file: Scratch
    private let watch: RunningNetflags
    private let recorder: pid_t
    private let changes: String
    private var random: SeededGenerator
    /// The steps of each burst; the first one is that before the first change.
    private var bursts: [[Step]] = []
    private var live = Causes()

    init(changes: String, seed: UInt64) throws {
        self.changes = changes
        random = SeededGenerator(seed: seed)
        host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24", "2001:db8::1/64")
        try host.wire("w1", "203.0.113.1/24", "2001:db8:1::1/64")
        try host.wire("w2", "198.51.100.1/24")
        try host.ip(
            "route add default via 192.0.2.254", "-6 route add default via 2001:db8::254",
            "route add default via 203.0.113.254 table 77", "rule add to 10.3.0.0/16 lookup 77 pref 100",
            "route add 10.1.0.0/16 via 203.0.113.254", "nexthop add id 9 via 192.0.2.9 dev w0",
            "route add 10.2.0.0/16 nhid 9")
        file = try Scratch()
        recorder = try NetflagsProcess.start(
            host.entering([NetflagsProcess.path, "record", file.path, "--events"]), descriptors: [])
        watch = try RunningNetflags(
            ["watch", "--json", "--explain", "--changes", changes] + Self.targets + [Self.marker], in: host)
        for _ in 0...Self.targets.count { _ = try watch.row() }
        var number: UInt8 = 0
        try host.wait(until: "the recorder has begun") {
            number += 1
            try host.ip("route replace blackhole 10.254.\(number).0/24")
            return try readRecordingFile(file.path).firstRange(of: [10, 254, number, 0]) != nil
        }
    }

    deinit {
        kill(recorder, SIGKILL)
        _ = try? NetflagsProcess.wait(recorder)
    }

    // MARK: Changes

    /// Makes a burst of changes, and reads the lines that it leads to.
    func run() throws {
        var steps = [Step(words: "", process: 0, answers: try answers())]
        for _ in 0..<Int.random(in: 2...8, using: &random) { steps.append(try step(change())) }
        bursts.append(steps)
        // What comes after a pause is another burst.
        poll(nil, 0, Int32.random(in: 0..<2, using: &random) * 300)
        try host.ip("route \(bursts.count % 2 == 1 ? "add" : "del") local \(Self.marker) dev lo")
        while let row = try watch.row(), !isMarker(row) {
            guard row["target"]?.string != Self.marker else { continue }
            let causes = row["possibleCauses"]?.elements ?? [row["cause"] ?? .null]
            live.count += 1
            if causes.count == 1, causes[0] != .null { live.named += 1 }
            // Lines of one evaluation can come behind that of the marker.
            let isExplained = bursts.suffix(2).contains { burst in
                causes.contains { explains($0, row, burst) }
            }
            if causes != [.null], !isExplained {
                live.wrong.append(describe(causes, row, steps))
            }
        }
        poll(nil, 0, 450)
    }

    /// Whether a row is that of the end of the last burst: the marker is a local address, or is none any more.
    private func isMarker(_ row: JSONValue) -> Bool {
        row["target"]?.string == Self.marker && isLocal(row) == (bursts.count % 2 == 1)
    }

    private func isLocal(_ row: JSONValue) -> Bool { row["letters"]?.string?.contains("l") ?? false }

    private func step(_ words: String) throws -> Step {
        let output = try host.run(["sh", "-c", "echo $$; exec ip \(words) 2>/dev/null"]).output
        // The kernel finds a carrier by itself.
        if words.hasPrefix("link"), words.hasSuffix(" up") {
            try host.wait(for: String(words.split(separator: " ")[2]), state: "UP")
        }
        let process = Double(output.split(separator: "\n").first ?? "") ?? 0
        return Step(words: words, process: process, answers: try answers())
    }

    private func answers() throws -> [String: TestNamespaces.Answer] {
        var answers: [String: TestNamespaces.Answer] = [:]
        for target in Self.targets {
            answers[target] = try host.ask(target == "default" ? .defaultPath : .host(target))
        }
        return answers
    }

    /// A change in the words of ip(8); some concern no target.
    private func change() -> String {
        let number = Int.random(in: 1..<9, using: &random)
        let gateway = random.pick(["192.0.2.254", "192.0.2.253", "203.0.113.254"])
        let (verb, wire) = (random.pick(["add", "del"]), random.pick(["w0", "w1"]))
        let state = random.pick(["up", "up", "down"])
        switch Int.random(in: 0..<30, using: &random) {
        case 0, 1: return "route replace default via \(gateway)"
        case 2: return "route del default"
        case 3, 4: return "route replace 10.1.0.0/16 via \(gateway)"
        case 5: return "route \(verb) 10.1.0.0/16 via \(gateway)"
        case 6: return "route \(verb) \(random.pick(["blackhole", "unreachable"])) 10.1.0.0/24"
        case 7: return "rule \(verb) to 10.3.0.0/16 lookup 77 pref 100"
        case 8: return "rule \(verb) to 10.3.0.0/16 prohibit pref 90"
        case 9: return "route \(random.pick(["replace", "del"])) default via 203.0.113.254 table 77"
        case 10: return "nexthop replace id 9 via \(gateway) dev \(gateway.hasPrefix("192") ? "w0" : "w1")"
        case 11: return "route \(random.pick(["replace", "del"])) 10.2.0.0/16 nhid 9"
        case 12: return "nexthop del id 9"
        case 13, 14: return "link set \(wire) \(state)"
        case 15: return "addr \(verb) 203.0.113.1/24 dev w1"
        case 16: return "-6 addr \(verb) 2001:db8:1::1/64 dev w1 nodad"
        case 17: return "-6 route replace default via 2001:db8::\(random.pick(["254", "253"]))"
        case 18: return "-6 route \(verb) unreachable 2001:db8:9::/48"
        case 19: return "-6 rule \(verb) to 2001:db8:9::/48 prohibit pref 91"
        // No target depends on these.
        case 20: return "route replace 10.77.\(number).0/24 via 192.0.2.254"
        case 21: return "route replace 10.1.0.0/16 via 192.0.2.9 table 99"
        case 22: return "route replace default via 192.0.2.\(number) table 99"
        case 23: return "route replace default via 192.0.2.\(number) metric 900"
        case 24: return "rule add to 10.99.0.0/16 lookup 77 pref 20\(number)"
        case 25: return "rule \(verb) fwmark 9 lookup 99 pref 120"
        case 26: return "addr \(verb) 198.51.100.\(number + 1)/24 dev w2"
        case 27: return "link set \(random.pick(["w0", "w1", "w2"])) mtu 14\(number)0"
        case 28: return "nexthop replace id 3\(number) via 192.0.2.\(number) dev w0"
        default: return "-6 route replace 2001:db8:77::/48 via 2001:db8::\(number)"
        }
    }

    // MARK: Causes

    /// Whether an event is that of a change after which a target has the answer of a row, and before which it had not.
    private func explains(_ cause: JSONValue, _ row: JSONValue, _ steps: [Step]) -> Bool {
        guard let target = row["target"]?.string else { return false }
        return zip(steps, steps.dropFirst()).contains { before, step in
            guard let old = before.answers[target], let new = step.answers[target], made(cause, by: step)
            else {
                return false
            }
            return state(new) != state(old) && row["rawValue"]?.number == Double(new.flags.rawValue)
                && (changes == "flags"
                    || row["reason"]?.string == new.text && row["gateway"]?.string ?? "" == new.gateway
                        && row["interface"]?.string ?? "" == new.interface)
        }
    }

    /// What counts as a change of an answer.
    private func state(_ answer: TestNamespaces.Answer) -> [String] {
        let flags = "\(answer.flags.rawValue)"
        return changes == "flags"
            ? [flags] : [flags, answer.text, answer.interface, answer.gateway, answer.source]
    }

    /// Whether an event is one of a process; without its port, one of the interface or address that it changes.
    private func made(_ cause: JSONValue, by step: Step) -> Bool {
        if let port = cause["port"]?.number { return port == step.process }
        let words = step.words.split(separator: " ").map(String.init)
        switch cause["kind"]?.string {
        case "link": return words.starts(with: ["link", "set"]) && words[2] == cause["interface"]?.string
        case "address": return words.contains("addr") && words.contains(cause["prefix"]?.string ?? "-")
        // The kernel adds the route of an IPv6 address before it, and can take its time in between.
        case "route":
            return words.contains("addr") && words.contains(cause["interface"]?.string ?? "-")
                && cause["protocol"] == .string("kernel")
        default: return false
        }
    }

    private func describe(_ causes: [JSONValue], _ row: JSONValue, _ steps: [Step]) -> String {
        let target = row["target"]?.string ?? ""
        let lines = steps.map { "\($0.words) [\(Int($0.process))]: \($0.answers[target].map(state) ?? [])" }
        let words = causes.map { $0["description"]?.string ?? "none" }
        return
            "\(target) became \(row["letters"]?.string ?? "") (\(row["reason"]?.string ?? "")) by \(words) of\n  "
            + lines.joined(separator: "\n  ")
    }

    // MARK: The end

    /// Ends the recorder, and compares the causes of the recording.
    func finish() throws -> (recorded: Causes, live: Causes) {
        kill(recorder, SIGTERM)
        _ = try NetflagsProcess.wait(recorder)
        let arguments =
            ["timeline", "--json", "--changes", changes, file.path] + Self.targets + [Self.marker]
        let rows = try NetflagsProcess.run(arguments).lines.compactMap { JSONValue($0) }
        let markers = rows.filter { $0["target"]?.string == Self.marker }
        let ends = zip(markers, markers.dropFirst()).filter { isLocal($0) != isLocal($1) }
            .compactMap { $1["from"]?.string }
        #expect(ends.count == bursts.count)
        var recorded = Causes()
        for row in rows where row["target"]?.string != Self.marker {
            guard let cause = row["cause"], let time = row["from"]?.string,
                let place = ends.firstIndex(where: { time < $0 }), place < bursts.count,
                row["from"] != rows.first?["from"]
            else { continue }
            recorded.count += 1
            if cause != .null { recorded.named += 1 }
            if !explains(cause, row, bursts[place]) {
                recorded.wrong.append("\(time): " + describe([cause], row, bursts[place]))
            }
        }
        return (recorded, live)
    }
}
