// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

/// The rows that are asked for.
private let wantedRows = getenv("EVIDENCE_ROWS").map { String(cString: $0) }

/// What the evidence says of networks that break: the rows of `Tests/Tools/evidence/faults`.
///
/// The rows last minutes and are about time, so they run on request: `EVIDENCE_ROWS=few` runs some, `EVIDENCE_ROWS=all`
/// every row in both families, those that must not raise an alarm for five minutes each.
@Suite(
    .needs(.veth), .enabled(if: ShellCommand.run("python3 -c ''").status == 0, "needs python3"),
    .enabled(if: wantedRows != nil, "set EVIDENCE_ROWS to few or all"))
struct EvidenceFaultTests {
    struct Row: CustomTestStringConvertible {
        let name: String
        let family: String
        var testDescription: String { "\(name) \(family)" }
    }

    private static let program =
        #filePath.split(separator: "/").dropLast(4)
        .reduce(into: "") { $0 += "/\($1)" } + "/Tools/evidence/faults"
    private static let hasTables = ShellCommand.has("nft")

    /// The rows with a fault that is found, and those without one.
    private static let faults = ["cut", "one-remote", "gateway", "firewall"]
    private static let otherFaults = ["outgoing", "incoming", "gateway-slow", "new-connections"]
    private static let calm = ["quiet", "lossy"]
    private static let otherCalm = [
        "one-server", "dead-targets", "address", "stalled", "sparse", "lossy-sparse", "very-lossy", "slow",
        "slow-one",
    ]

    private static func rows(_ few: [String], _ others: [String]) -> [Row] {
        let names = ((wantedRows == "all") ? few + others : few).filter { $0 != "firewall" || hasTables }
        return names.map { Row(name: $0, family: "-4") }
            + ((wantedRows == "all") ? names : Array(names.prefix(1))).map { Row(name: $0, family: "-6") }
    }

    private func run(_ row: Row, scale: String) throws -> JSONValue {
        let unshare = geteuid() == 0 ? "unshare -n" : "unshare -Urn"
        let result = ShellCommand.run(
            "\(unshare) python3 '\(Self.program)' '\(NetflagsProcess.path)' \(row.name) \(row.family) "
                + "--scale \(scale)")
        let line = try #require(result.output.split(separator: "\n").last, "\(row) printed nothing")
        return try #require(JSONValue(line), "\(line)")
    }

    @Test(arguments: rows(faults, otherFaults))
    func `a fault is found and called by its name`(row: Row) throws {
        let found = try run(row, scale: "1")
        #expect(found["isFound"] == .bool(true), "\(found)")
        #expect(found["wrong"]?.number == 0, "\(found)")
    }

    @Test(arguments: rows(calm, otherCalm))
    func `nothing is called silent that answers`(row: Row) throws {
        let found = try run(row, scale: (wantedRows == "all") ? "5" : "0.15")
        #expect(found["wrong"]?.number == 0, "\(found)")
        // The connections of this row are idle. The kernels confirm IPv6 neighbours.
        if row.name == "quiet", row.family == "-4" { #expect(found["sent"]?.number == 0, "\(found)") }
    }
}
