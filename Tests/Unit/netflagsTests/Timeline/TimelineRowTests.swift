// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import Testing

@testable import NetlinkRecording
@testable import netflags

struct TimelineRowTests {
    private static func rows(_ arguments: String...) throws -> [JSONValue] { try rows(arguments) }

    @Test func `each row is as docs/timeline.schema.json describes it`() throws {
        let schema = try Self.schema()
        let recorded = try Self.rows(["--host", "h1", Night.path] + Night.targets)
        #expect(recorded.count > 10)
        for row in recorded + Self.statements() {
            #expect(row.violations(of: schema) == [])
        }
    }

    @Test func `a row that lacks a key or has another one is not as the schema describes it`() throws {
        let schema = try Self.schema()
        let row = try #require(try Self.rows(Night.path, "default").first)
        guard case .object(let members) = row else { throw CancellationError() }
        for key in members.map(\.key) {
            let rest = JSONValue.object(members.filter { $0.key != key })
            #expect(rest.violations(of: schema) == ["\(key) is missing"])
        }
        let more = JSONValue.object(members + [JSONValue.Member(key: "more", value: .null)])
        #expect(more.violations(of: schema) == ["more is not described"])
    }

    @Test func `a row has the host that is given, the start of the host, and its duration`() throws {
        let row = try #require(try Self.rows("--host", "h1", Night.path, "default").first)
        #expect(row["host"] == .string("h1"))
        #expect(row["bootID"]?.string.map { $0.utf8.count } ?? 32 == 32)
        let (from, to) = (try #require(row["from"]), try #require(row["to"]))
        #expect(abs(try #require(row["durationSeconds"]?.number) - from.seconds(to: to)) < 0.002)
    }

    @Test func `a cause has what changed as values`() throws {
        let causes = try Self.rows(Night.path, "198.51.100.20").compactMap { $0["cause"] }
        let keys = ["code", "interface", "prefix", "table", "gateway", "protocol"]
        let texts = causes.filter { $0 != .null }.map { cause in
            keys.map { key in
                cause[key]?.string ?? cause[key]?.number.map { "\(Int($0))" } ?? "-"
            }.joined(separator: " ")
        }
        #expect(
            texts == [
                "linkCarrierLost eth0 - - - -", "linkCarrierGained eth0 - - - -",
                "routeRemoved eth0 0.0.0.0/0 254 192.0.2.1 boot",
                "routeAdded eth0 0.0.0.0/0 254 192.0.2.1 boot",
                "ruleAdded - 198.51.100.0/24 - - -", "ruleRemoved - 198.51.100.0/24 - - -",
            ])
    }

    @Test func `whether packets can leave is null where it is not known`() {
        let rows = Self.statements()
        #expect(rows.map { $0["reachable"] } == [.null, .null])
        #expect(rows.map { $0["isRecorded"] } == [.bool(false), .bool(true)])
        #expect(rows.first?["cause"]?["code"] == .string("recordingOverrun"))
    }

    @Test func `--losses prints the spans in which packets cannot leave, and no others`() throws {
        let all = try Self.rows([Night.path] + Night.targets)
        let losses = try Self.rows(["--losses", Night.path] + Night.targets)
        #expect(losses.count > 4)
        #expect(losses == all.filter { $0["reachable"] == .bool(false) })
    }

    /// The schema of the documentation, whose strings have no escapes, without the blanks between them.
    private static func schema() throws -> JSONValue {
        let parts = try Night.document("timeline.schema.json")
            .split(separator: "\"", omittingEmptySubsequences: false)
        let plain = parts.enumerated().map { $0 % 2 == 0 ? $1.filter { !$0.isWhitespace } : String($1) }
        return try #require(JSONValue(plain.joined(separator: "\"")))
    }

    private static func rows(_ arguments: [String]) throws -> [JSONValue] {
        try NetflagsProcess.run(["timeline", "--json"] + arguments).lines.map { try #require(JSONValue($0)) }
    }

    /// The rows of a span that is not recorded, and of one that is undecided.
    private static func statements() -> [JSONValue] {
        var timeline = Sample.timeline([Sample.lane("a", [(0, .reachable)], until: 10)], until: 10)
        timeline.apply(.mark(Recording.Mark(time: Sample.time(20), kind: .overrun)))
        timeline.apply(.resumed(Sample.time(30)))
        let failure = ReachabilityError(.undecided, operation: "ask", message: "unknown")
        timeline.apply(
            .change(
                Recording.Change(
                    time: Sample.time(30), index: 0, result: .failure(failure), isFirst: false, cause: nil,
                    before: nil)))
        timeline.finish(start: Sample.time(0), end: Sample.time(40))
        return timeline.lanes[0].intervals.dropFirst().compactMap { interval in
            var buffer = ByteBuffer()
            interval.writeJSON(host: nil, target: "a", to: &buffer)
            return JSONValue(String(decoding: buffer.bytes.dropLast(), as: UTF8.self))
        }
    }
}

// MARK: - Schemas

extension JSONValue {
    /// What of a value is not as a JSON schema describes it.
    ///
    /// Of the words of JSON Schema these are known: `type`, `enum`, `items`, `properties`, `required` and
    /// `additionalProperties`.
    fileprivate func violations(of schema: JSONValue) -> [String] {
        var found: [String] = []
        if let types = schema["type"] {
            let allowed = types.string.map { [$0] } ?? types.elements.compactMap(\.string)
            if !allowed.contains(where: isOfType) { found.append("\(self) is not \(allowed)") }
        }
        if let known = schema["enum"], !known.elements.contains(self) { found.append("\(self) is not known") }
        if let items = schema["items"] { found += elements.flatMap { $0.violations(of: items) } }
        guard case .object(let members) = self else { return found }
        for key in schema["required"]?.elements.compactMap(\.string) ?? [] where self[key] == nil {
            found.append("\(key) is missing")
        }
        for member in members {
            if let own = schema["properties"]?[member.key] {
                found += member.value.violations(of: own)
            } else if schema["additionalProperties"] == .bool(false) {
                found.append("\(member.key) is not described")
            }
        }
        return found
    }

    private func isOfType(_ name: String) -> Bool {
        switch self {
        case .null: name == "null"
        case .bool: name == "boolean"
        case .number(let number): name == "number" || name == "integer" && number == number.rounded()
        case .string: name == "string"
        case .array: name == "array"
        case .object: name == "object"
        }
    }
}
