// SPDX-License-Identifier: Apache-2.0

import Fakes
internal import NetlinkRecording
import RoutingModel
import Testing

@testable import NetlinkReachability

/// Recordings of several kernels, each asked again about the times at which its kernel was asked.
struct KernelRecordingTests {
    @Test(arguments: KernelRecording.all) func `each answer of the kernel is found again`(
        recording: KernelRecording
    ) throws {
        for moment in try Self.moments(of: recording) {
            for question in moment.questions {
                let answer = try moment.snapshot.answer(to: question.query(in: moment.snapshot))
                let expected = try question.outcome(in: moment.snapshot)
                #expect(SnapshotOracleTests.Outcome(answer) == expected, "\(question)")
            }
        }
    }

    @Test(arguments: KernelRecording.all)
    func `each target has the flags that follow from the kernel's answers`(recording: KernelRecording) throws
    {
        for moment in try Self.moments(of: recording) {
            let source = NetworkSource(routing: moment.routing, resolver: ScriptedResolver())
            let expected = ExpectedFlags(moment.routing.routing)
            let probes = try moment.questions.map { try $0.probe(in: moment.snapshot) }
            for (question, probe) in zip(moment.questions, probes) {
                let address = try #require(IPAddress(probe.target))
                // The zero address stands for the default path.
                if address.isUnspecified { continue }
                let reachability = NetworkReachability(
                    target: .address(address), options: question.options, source: source)
                let wanted = expected.flags(probe, among: [], links: moment.snapshot.links.byIndex)
                #expect(try reachability.blockingFlags() == wanted, "\(question)")
            }
            // Only default routes match these two in the recorded networks.
            let families = probes.filter { ["0.0.0.1", "::"].contains($0.target) }
            try #require(families.count == 2)
            let defaultPath = NetworkReachability(target: .defaultPath, source: source)
            let wanted = expected.defaultPath(families.map { ($0.target, $0.fibmatch) })
            #expect(try defaultPath.blockingFlags() == wanted, "the default path")
        }
    }

    private static func moments(of recording: KernelRecording) throws -> [KernelRecording.Moment] {
        let moments = try recording.moments()
        guard recording.endsWithLifetime else { return moments }
        return try moments.dropLast() + [recording.end()]
    }

    /// 5.10 sets the lifetime after the notification of the route.
    @Test
    func `the end of a notified lifetime is undecided until the next dump`()
        throws
    {
        let ends = try KernelRecording.all.filter(\.endsWithLifetime).map { recording in
            let moment = try #require(recording.moments().last)
            let question = try #require(moment.questions.first)
            return RecordedAnswer(moment.routing, try question.query(in: moment.snapshot))
        }
        try #require(ends.count == 2)
        guard case .answer(.taken) = ends[0] else {
            Issue.record("\(ends[0])")
            return
        }
        #expect(ends[1].undecided?.contains("its router may have prolonged it") == true)
    }

    /// The setting for all interfaces alone, which 5.10 does not obey, and suppressed IPv6 routes, which it uses.
    @Test func `the kernels differ in few answers`() throws {
        let (old, new) = (try Self.outcomes(of: "5.10.0/"), try Self.outcomes(of: "7.3.4/"))
        #expect(Set(old.keys) == Set(new.keys) && old.count == 241)
        #expect(
            old.keys.filter { old[$0] != new[$0] }.sorted() == [
                "linkdown 1: 0.0.0.1", "linkdown 1: 192.0.2.9", "linkdown 1: 198.51.100.1",
                "linkdown 1: 198.51.100.1 oif w0",
                "wireguard 2: 2001:db8:f::1 mark 51820", "wireguard 3: 2001:db8:f::1 mark 51820",
            ])
    }

    /// The errno, the destination and the gateway of each answer of a kernel.
    private static func outcomes(of kernel: String) throws -> [String: [String]] {
        var outcomes: [String: [String]] = [:]
        for recording in KernelRecording.all where recording.name.hasPrefix(kernel) {
            for (index, moment) in try recording.moments().enumerated() {
                for question in moment.questions {
                    let outcome = try question.outcome(in: moment.snapshot)
                    let name = recording.name.dropFirst(kernel.count)
                    outcomes["\(name) \(index): \(question.question)"] = [
                        "\(outcome.errno)", "\(outcome.destination?.description ?? "-")",
                        "\(outcome.ways.map { $0.gateway ?? "-" })",
                    ]
                }
            }
        }
        return outcomes
    }
}

extension KernelRecording.Question {
    /// The kernel's answer.
    fileprivate func outcome(in snapshot: NetworkSnapshot) throws -> SnapshotOracleTests.Outcome {
        SnapshotOracleTests.Outcome(try probe(in: snapshot).fibmatch)
    }
}
