// SPDX-License-Identifier: Apache-2.0

import Foundation
internal import NetlinkReachability
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkRecording

/// The reader in Python beside `docs/examples/recording-format.md`, and the test vectors of that page.
struct PythonReaderTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        .standardized
    private static let hasPython = ShellCommand.run("python3 -c ''").status == 0

    @Test func `the library reads the test vectors as the page says`() throws {
        let vectors = try Vector.all(of: Self.root.appending(path: "docs/examples/recording-format.md"))
        #expect(vectors.count >= 9)
        for vector in vectors {
            #expect(lines(of: vector.bytes) == vector.lines, "\(vector.name)")
        }
    }

    @Test(.enabled(if: hasPython, "needs python3"))
    func `the reader in Python reads the test vectors as the page says`() throws {
        let vectors = try Vector.all(of: Self.root.appending(path: "docs/examples/recording-format.md"))
        let files = try vectors.map { try TemporaryFile($0.bytes) }
        #expect(files.count > 1)
        let read = try python(files.map(\.path))
        for (vector, file) in zip(vectors, files) {
            let prefix = "{\"file\": \"\(file.path)\", "
            let lines = read.filter { $0.hasPrefix(prefix) }.map { "{" + $0.dropFirst(prefix.count) }
            #expect(lines == vector.lines, "\(vector.name)")
        }
    }

    @Test(.enabled(if: hasPython, "needs python3"))
    func `the reader in Python agrees with the library on every recording of the tests`() throws {
        let files = try recordings()
        #expect(files.count > 100)
        var expected: [String] = []
        for file in files {
            let prefix = "{\"file\": \"\(file)\", "
            expected += lines(of: try readFile(file)).map { prefix + $0.dropFirst() }
        }
        let read = try python(files)
        #expect(read.count == expected.count)
        let difference = zip(read, expected).first { $0 != $1 }
        #expect(difference == nil)
    }

    /// All files of recorded messages below the unit tests.
    private func recordings() throws -> [String] {
        let folder = Self.root.appending(path: "Tests/Unit").path()
        let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return names.filter { name in [".rtnl", ".rtmon", ".nl", ".neigh"].contains { name.hasSuffix($0) } }
            .sorted().map { folder + "/" + $0 }
    }

    /// The lines that the reader in Python prints.
    private func python(_ files: [String]) throws -> [String] {
        let script = Self.root.appending(path: "docs/examples/read-recording").path()
        let output = try TemporaryFile()
        let arguments = files.map { "'\($0)'" }.joined(separator: " ")
        _ = ShellCommand.run("python3 '\(script)' \(arguments) > \(output.path)")
        return String(decoding: try readFile(output.path), as: UTF8.self).split(separator: "\n").map(
            String.init)
    }

    /// The lines of the library's reader, in the words of the reader in Python.
    private func lines(of bytes: [UInt8]) -> [String] {
        let (entries, error) = readRecording(bytes)
        return entries.map(\.json)
            + (error.map { ["{\"offset\": \($0.offset), \"damage\": \"\($0.reason.word)\"}"] } ?? [])
    }
}

/// A test vector of the page: bytes, and the lines that describe them.
private struct Vector {
    var name: String
    var bytes: [UInt8] = []
    var lines: [String] = []

    /// The vectors of the section "Test vectors".
    static func all(of page: URL) throws -> [Vector] {
        let text = try String(contentsOf: page, encoding: .utf8)
        let section = try #require(text.components(separatedBy: "## Test vectors").dropFirst().first)
        let block = try #require(section.components(separatedBy: "```").dropFirst().first)
        var vectors: [Vector] = []
        for line in block.split(separator: "\n") {
            let rest = String(line.dropFirst(2))
            switch line.first {
            case "#": vectors.append(Vector(name: rest))
            case "<": vectors[vectors.count - 1].bytes += try bytes(rest)
            case ">": vectors[vectors.count - 1].lines.append(rest)
            default: Issue.record("not a line of a vector: \(line)")
            }
        }
        return vectors
    }

    private static func bytes(_ text: String) throws -> [UInt8] {
        let digits = Array(text.filter { $0 != " " })
        return try stride(from: 0, to: digits.count, by: 2).map { index in
            try #require(UInt8(String(digits[index...].prefix(2)), radix: 16))
        }
    }
}

extension SeenEntry {
    /// The entry as a line of the reader in Python.
    fileprivate var json: String {
        let stamp = time.map { "\"\($0.seconds).\(String(format: "%06u", $0.microseconds))\"" } ?? "null"
        return "{\"offset\": \(offset), \"time\": \(stamp), \(fields)}"
    }

    private var fields: String {
        guard let annotation else {
            let flags = UInt16(bytes[6]) | UInt16(bytes[7]) << 8
            let digits = Array("0123456789abcdef".utf8)
            let hex = String(
                decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
            return "\"type\": \(type), \"flags\": \(flags), \"bytes\": \"\(hex)\""
        }
        let (name, body) = annotation.words
        return "\"annotation\": \"\(name)\"" + body
    }
}

extension RecordingAnnotation {
    /// The name of the annotation, and the keys after it.
    fileprivate var words: (name: String, body: String) {
        switch self {
        case .origin(let text): ("origin", ", \"text\": \"\(text)\"")
        case .dumpBegins: ("dumpBegins", "")
        case .dumpEnds: ("dumpEnds", "")
        case .wirelessInterfaces(let indexes): ("wirelessInterfaces", ", \"indexes\": \(indexes)")
        case .cellularInterfaces(let indexes): ("cellularInterfaces", ", \"indexes\": \(indexes)")
        case .changingTables(let tables): ("changingTables", ", \"tables\": \(tables.map(\.numbers))")
        case .missingTables(let tables): ("missingTables", ", \"tables\": \(tables.map(\.numbers))")
        case .unwatched: ("unwatched", "")
        case .overrun: ("overrun", "")
        case .end: ("end", "")
        case .suspended(let milliseconds): ("suspended", ", \"milliseconds\": \(milliseconds)")
        case .stalled(let milliseconds): ("stalled", ", \"milliseconds\": \(milliseconds)")
        case .unwritten(let number): ("unwritten", ", \"errno\": \(number)")
        case .continued: ("continued", "")
        case .settingsOfAll(let settings):
            ("settingsOfAll", ", \"settings\": \(settings.map { [Int64($0.number), Int64($0.value)] })")
        case .follows(let number): ("follows", ", \"number\": \(number)")
        case .evidence(let evidence): ("evidence", evidence?.json ?? ", \"verdict\": null")
        case .requester(let port, let requester):
            (
                "requester",
                ", \"port\": \(port), \"certainty\": \(requester.map { "\"\($0.certainty.rawValue)\"" } ?? "null")"
                    + ", \"processes\": [\((requester?.processes ?? []).map(\.json).joined(separator: ", "))]"
            )
        case .clock(let reading):
            (
                reading.isBootKnown ? "clock" : "ownClock",
                ", \"boot\": \([reading.boot >> 64, reading.boot & UInt128(UInt64.max)]), \"boottime\": \(reading.sinceBoot)"
                    + ", \"realtime\": \(reading.sinceEpoch)"
            )
        }
    }
}

extension NetworkEvidence {
    fileprivate var json: String {
        func number(_ age: Duration?) -> String { age.map { "\(Int64($0 / .milliseconds(1)))" } ?? "null" }
        return
            ", \"verdict\": \"\(verdict.rawValue)\", \"interface\": \(interfaceIndex.map(String.init) ?? "null")"
            + ", \"gateway\": \(gatewayAddress.map { "\"\($0)\"" } ?? "null")"
            + ", \"gatewayState\": \"\(gateway.rawValue)\", \"connections\": \(connections)"
            + ", \"waiting\": \(waitingConnections), \"remotes\": \(remotes), \"tries\": \(tries)"
            + ", \"age\": \(number(age)), \"answerAge\": \(number(lastAnswer))"
    }
}

extension RecordingAnnotation.Table {
    fileprivate var numbers: [Int] {
        [Int(table.rawValue), Int(family?.rawValue ?? 0), Int(number)]
    }
}

extension RecordingError.Reason {
    /// The word of the reader in Python.
    fileprivate var word: String {
        switch self {
        case .empty: "empty"
        case .cut: "cut"
        case .length: "length"
        case .foreignByteOrder: "byte order"
        case .timeStamp: "time stamp"
        default: "\(self)"
        }
    }
}

extension Recording.Event.Requester.Process {
    fileprivate var json: String {
        "{\"identifier\": \(identifier), \"name\": \"\(name)\", \"unit\": \(unit.map { "\"\($0)\"" } ?? "null")}"
    }
}
