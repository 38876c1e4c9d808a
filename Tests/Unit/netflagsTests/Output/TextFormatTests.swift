// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import Testing

@testable import netflags

@Suite(.enabled(if: "例".columns == 2, "no locale with UTF-8 here"))
struct TextFormatTests {
    private static let targets = [
        "a", String(repeating: "long.", count: 30), String(repeating: "例え", count: 10) + ".test",
        String(repeating: "例え", count: 40), "e\u{301}" + String(repeating: "x\u{301}", count: 30),
    ]

    /// The text without colours, which depend on the terminal that the tests run in.
    private func plain(_ buffer: ByteBuffer) -> String {
        String(decoding: buffer.bytes, as: UTF8.self).replacing(/\u{1B}\[[0-9]+m/, with: "")
    }

    /// The rows of targets on a terminal.
    private func rows(
        _ outcome: (Result<ReachabilityReport, ReachabilityError>)?, columns: UInt16, isWatch: Bool
    ) throws -> [Substring] {
        let terminal = try Terminal(columns: columns)
        let query = TargetQuery(targets: Self.targets)
        var format = TextFormat(query, isTimed: isWatch, for: Output(descriptor: terminal.screen))
        var buffer = ByteBuffer()
        for target in Self.targets {
            let line = TargetLine(target: target, outcome: outcome, time: isWatch ? .now : nil)
            format.write(line, to: &buffer)
        }
        format.flush(to: &buffer)
        // The first row has the headings.
        return plain(buffer).split(separator: "\n").dropFirst().map(\.self)
    }

    private func loopback() throws -> Result<ReachabilityReport, ReachabilityError> {
        let source = try Recording(path: Recordings.path("01-dummy/02-up-default-routes")).source()
        let target = ReachabilityTarget.address(try #require(IPAddress("127.0.0.1")))
        return try #require(source.blockingValues(of: [.report(of: target)]).first)
    }

    /// A long target pushed its row beyond the edge, and a wide character counted as one column.
    @Test(arguments: [20, 40, 60, 80, 120] as [UInt16], [false, true])
    func `a row is never wider than the terminal`(columns: UInt16, isWatch: Bool) throws {
        for outcome in [try loopback(), nil] {
            let rows = try rows(outcome, columns: columns, isWatch: isWatch)
            #expect(rows.count == Self.targets.count)
            for row in rows { #expect(String(row).columns <= Int(columns), "\(row)") }
        }
    }

    @Test(arguments: [60, 80, 120] as [UInt16], [false, true])
    func `a long target leaves room for the letters, the word and some of the rest`(
        columns: UInt16, isWatch: Bool
    ) throws {
        for row in try rows(try loopback(), columns: columns, isWatch: isWatch) {
            #expect(row.contains("  -R -----ld"), "\(row)")
            #expect(row.contains("yes"), "\(row)")
        }
        for row in try rows(nil, columns: columns, isWatch: isWatch) {
            #expect(row.contains("?    not r"), "\(row)")
        }
    }

    @Test func `the columns of rows with wide characters are aligned`() throws {
        let rows = try rows(try loopback(), columns: 200, isWatch: false)
        let starts = try [0, 2, 4].map { index in
            let row = String(rows[index])
            return String(row[..<(try #require(row.firstRange(of: "-R -----ld"))).lowerBound]).columns
        }
        #expect(Set(starts).count == 1)
    }

    @Test func `an error is whole, as it ends with what to do`() throws {
        let error = ReachabilityError(
            operation: "open a netlink socket", number: 1)
        let words = try rows(.failure(error), columns: 60, isWatch: true).joined().split(separator: " ")
        let end = "allow AF_NETLINK (RestrictAddressFamilies= in systemd)".split(separator: " ")
        #expect(
            words.indices.filter { words[$0...].starts(with: end.dropLast()) }.count == Self.targets.count)
    }

    @Test(arguments: [40, 60, 80] as [UInt16])
    func `the reason why packets cannot leave is whole, below a row without room for it`(columns: UInt16)
        throws
    {
        let terminal = try Terminal(columns: columns)
        let query = TargetQuery(targets: ["a.name", "192.0.2.9"])
        var format = TextFormat(query, isTimed: false, for: Output(descriptor: terminal.screen))
        let target = ReachabilityTarget.address(try #require(IPAddress("198.51.100.7")))
        let source = try Recording(path: Recordings.path("01-dummy/05-admin-down")).source()
        let outcome = source.blockingValues(of: [.report(of: target)]).first
        let reason = try #require(outcome).get().reason.description
        var buffer = ByteBuffer()
        format.write(TargetLine(target: "a.name", outcome: outcome), to: &buffer)
        format.flush(to: &buffer)
        let text = plain(buffer)
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= Int(columns) }, "\(text)")
        #expect(text.split { $0.isWhitespace }.joined(separator: " ").hasSuffix(reason), "\(text)")
    }

    @Test func `the last cell of a whole row is wrapped under its start`() throws {
        let terminal = try Terminal(columns: 40)
        var table = TextTable(["A", "B"], widths: [1], for: Output(descriptor: terminal.screen))
        table.add("one")
        table.add("words that are longer than the terminal is wide")
        table.endRow(isWhole: true)
        var buffer = ByteBuffer()
        table.flush(to: &buffer)
        #expect(
            String(decoding: buffer.bytes, as: UTF8.self).split(separator: "\n") == [
                "A    B", "one  words that are longer than the", "     terminal is wide",
            ])
    }

    @Test func `a line that is cut keeps the colours behind the cut`() {
        var line = ByteBuffer()
        line.append("target ")
        line.append(in: .green) { $0.append("例えreachable") }
        var cut = ByteBuffer()
        #expect(cut.append(line, cutTo: 11) == 10)
        #expect(String(decoding: cut.bytes, as: UTF8.self) == "target \u{1B}[32m例…\u{1B}[0m")
        var whole = ByteBuffer()
        whole.append(line, cutTo: 20)
        #expect(whole == line)
    }
}
