// SPDX-License-Identifier: Apache-2.0

import Fakes
import Foundation
import NetlinkReachability
import TestSupport
import Testing

/// Full reports about recorded networks, as values.
struct RecordedReportTests {
    /// Full reports about the default path, a loopback address and probes that are drawn.
    private func reports(
        _ network: RecordedNetwork,
        count: Int,
        seed: UInt64
    ) throws -> [ReachabilityReport] {
        let source = NetworkSource(routing: try network.routing(), resolver: ScriptedResolver())
        let probes = try network.probes()
        var draw = SeededGenerator(seed: seed)
        let texts = ["127.0.0.1"] + (0..<count).map { _ in draw.pick(probes).target }
        let targets = try [.defaultPath] + texts.map { try ReachabilityTarget.host($0) }
        // Where packets take one of several nexthops by a hash, an answer can be undecided.
        let reports = targets.compactMap {
            try? NetworkReachability(target: $0, source: source).blockingReport()
        }
        try #require(reports.contains { $0.findings.contains { $0.route != nil } })
        return reports
    }

    private func json(_ report: ReachabilityReport) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return try encoder.encode(report)
    }

    /// Every stored property, whatever its access.
    private func properties(_ report: ReachabilityReport) -> String {
        var text = ""
        dump(report, to: &text)
        return text
    }

    @Test(arguments: RecordedNetwork.all)
    func `a full report is the same after it was encoded and decoded`(network: RecordedNetwork) throws {
        for report in try reports(network, count: Rounds.of(100), seed: 42) {
            let decoded = try JSONDecoder().decode(ReachabilityReport.self, from: json(report))
            #expect(decoded == report && decoded.hashValue == report.hashValue)
            #expect(properties(decoded) == properties(report))
        }
    }

    @Test(arguments: RecordedNetwork.scenarios)
    func `two full reports are equal if and only if all their properties are`(
        scenario: RecordedScenario
    ) throws {
        // The same targets in each network, and the last network a second time.
        let networks = scenario.networks + scenario.networks.suffix(1)
        let all = try networks.flatMap { try reports($0, count: Rounds.of(50), seed: 42) }
        let seen = try all.map { (report: $0, json: try json($0), properties: properties($0)) }
        var equal = 0
        for (index, one) in seen.enumerated() {
            for other in seen[..<index] {
                let isEqual = one.report == other.report
                #expect(isEqual == (one.json == other.json))
                #expect(isEqual == (one.properties == other.properties))
                if isEqual { equal += 1 }
            }
        }
        #expect(equal > 0 && equal < seen.count * (seen.count - 1) / 2)
    }
}
