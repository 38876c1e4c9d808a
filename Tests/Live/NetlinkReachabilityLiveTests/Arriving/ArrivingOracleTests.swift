// SPDX-License-Identifier: Apache-2.0

import Glibc
import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

/// Random networks: what the library says of packets that arrive, against real packets, the kernel's counters, and its
/// answers.
@Suite(.needs(.veth))
struct ArrivingOracleTests {
    /// The beginning of the series: another one for each value of `SOAK_SEED`.
    private static let seed = getenv("SOAK_SEED").flatMap { UInt64(String(cString: $0)) } ?? 11
    private static let networks = Rounds.of(60)
    private static let packetsOfNetwork = 12
    private static let questionsOfNetwork = 170

    /// The kernel is asked by root and by another user, and a recording is asked, too.
    @Test(arguments: [false, true])
    func `a real packet is delivered, forwarded or dropped as the library says, and for its reason`(
        isIPv6: Bool
    ) throws {
        var random = ArrivingNetworks(isIPv6: isIPv6, seed: Self.seed + (isIPv6 ? 1_000 : 0))
        var (outcomes, reasons): ([String: Int], [String: Int]) = ([:], [:])
        for _ in 0..<Self.networks {
            let steps = random.steps()
            let packets = (0..<Self.packetsOfNetwork).map { _ in random.packet() }
            let host = try RoutedHost(steps: steps)
            for packet in packets {
                let outcome = try host.outcome(packet)
                outcomes[outcome.answer.outcome, default: 0] += 1
                if outcome.answer.outcome == "dropped" { reasons[outcome.answer.code, default: 0] += 1 }
                guard let text = outcome.contradiction else { continue }
                try Self.fail(Found(steps: steps, text: text)) { try $0.outcome(packet).contradiction }
                return
            }
        }
        print("arriving: \(outcomes), dropped: \(reasons) with IPv\(isIPv6 ? 6 : 4), SOAK_SEED=\(Self.seed)")
        #expect(outcomes["dropped", default: 0] > 0)
    }

    @Test(arguments: [false, true])
    func `a recording says of a packet what the kernel's answers say`(isIPv6: Bool) throws {
        var random = ArrivingNetworks(isIPv6: isIPv6, seed: Self.seed + (isIPv6 ? 3_000 : 2_000))
        var outcomes: [String: Int] = [:]
        for _ in 0..<Self.networks {
            let steps = random.steps()
            let packets = (0..<Self.questionsOfNetwork).map { _ in random.packet() }
            let host = try RoutedHost(steps: steps)
            try host.record()
            for packet in packets {
                let (recorded, contradiction) = try host.comparison(packet)
                outcomes[recorded.outcome, default: 0] += 1
                guard let contradiction else { continue }
                try Self.fail(Found(steps: steps, text: contradiction)) { host in
                    try host.record()
                    return try host.comparison(packet).contradiction
                }
                return
            }
        }
        print("recorded: \(outcomes) with IPv\(isIPv6 ? 6 : 4), SOAK_SEED=\(Self.seed)")
        #expect(outcomes["error", default: 0] * 5 < Self.networks * Self.questionsOfNetwork, "\(outcomes)")
    }

    /// A contradiction, and the commands that make its network.
    private struct Found {
        let steps: [String]
        let text: String
    }

    /// Records a contradiction with the fewest commands that show it.
    private static func fail(_ found: Found, _ contradiction: (RoutedHost) throws -> String?) throws {
        let smallest = try Shrinking.smallest(found, steps: \.steps) { steps in
            try contradiction(RoutedHost(steps: steps)).map { Found(steps: steps, text: $0) }
        }
        Issue.record("\(smallest.text), after \(smallest.steps.joined(separator: "; "))")
    }
}
