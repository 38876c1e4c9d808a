// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
import RoutingModel
import Testing

@testable import NetlinkRecording

struct RecordingAnnotationTests {
    static let all: [RecordingAnnotation] = [
        .origin("Linux 6.1.0-56-amd64 x86_64"), .dumpBegins, .dumpEnds,
        .wirelessInterfaces([]), .wirelessInterfaces([3, 70_000]), .cellularInterfaces([1]),
        .changingTables([.init(.routes, family: .v6), .init(.links)]),
        .missingTables([.init(.nexthops, number: 95), .init(.rules, family: .v4, number: 97)]),
        .unwatched, .overrun, .end, .suspended(milliseconds: 90_000), .unwritten(number: 28), .continued,
        .stalled(milliseconds: 2_500),
        .settingsOfAll([.init(number: 23, value: 0), .init(number: 99, value: -1)]),
        .clock(ClockReading(boot: 7, sinceBoot: 1, sinceEpoch: 2)),
        .clock(ClockReading(boot: 7, isBootKnown: false, sinceBoot: 1, sinceEpoch: 2)), .follows(.max),
        .requester(port: 1_262, nil), .requester(port: 7, Requester(certainty: .gone, processes: [])),
        .requester(port: 1_262, Requester(certainty: .holder, processes: [dhclient])),
        .requester(port: 1, Requester(certainty: .holders, processes: [dhclient, manager])),
        .requester(
            port: .max,
            Requester(certainty: .candidates, processes: Array(repeating: shell, count: 8), isCut: true)),
        .evidence(nil), .evidence(NetworkEvidence()), .evidence(silence(IPAddress(192, 0, 2, 1))),
        .evidence(silence(IPAddress(v6High: 0xfe80 << 48, low: 1))),
    ]

    private static func silence(_ gateway: IPAddress) -> NetworkEvidence {
        var evidence = NetworkEvidence()
        (evidence.verdict, evidence.gateway) = (.gatewaySilent, .silent)
        (evidence.interfaceIndex, evidence.gatewayAddress) = (2, gateway)
        (evidence.age, evidence.lastAnswer) = (.milliseconds(4_100), .milliseconds(4_300))
        (evidence.connections, evidence.waitingConnections) = (12, 3)
        (evidence.remotes, evidence.tries) = (2, 9)
        return evidence
    }

    private typealias Requester = Recording.Event.Requester
    private static let dhclient = Requester.Process(
        identifier: 812, name: "dhclient", unit: "dhclient.service")
    private static let manager = Requester.Process(identifier: 1, name: "systemd", unit: "init.scope")
    private static let shell = Requester.Process(identifier: .max, name: "", unit: nil)

    @Test(arguments: all)
    func `an annotation is the same after writing and reading`(annotation: RecordingAnnotation) {
        #expect(annotation.payload.withUnsafeBytes { RecordingAnnotation(payload: $0) } == annotation)
    }

    @Test func `the layout of an annotation stays as documented`() {
        let payload = RecordingAnnotation.wirelessInterfaces([7]).payload
        let expected =
            Array("netflags".utf8) + UInt16(1).hostBytes + UInt16(4).hostBytes + UInt32(7).hostBytes
        #expect(payload == expected)
        let table = RecordingAnnotation.missingTables([.init(.nexthops, family: .v6, number: 95)]).payload
        #expect(table.dropFirst(12) == (UInt16(106).hostBytes + [10, 0] + Int32(95).hostBytes)[...])
    }

    @Test func `a later version and an unknown kind are not annotations`() {
        let magic = Array("netflags".utf8)
        let later = magic + UInt16(2).hostBytes + UInt16(2).hostBytes
        let unknown = magic + UInt16(1).hostBytes + UInt16(60_000).hostBytes + [1, 2, 3]
        for payload in [later, unknown] {
            #expect(payload.withUnsafeBytes { RecordingAnnotation(payload: $0) } == nil)
        }
    }

    @Test(arguments: all)
    func `a cut annotation is read in part or not at all`(annotation: RecordingAnnotation) {
        let payload = annotation.payload
        // A number is read whole or not at all, and a list as far as it goes.
        let least =
            switch annotation {
            case .suspended, .stalled, .unwritten, .clock, .follows, .requester, .evidence: payload.count
            default: 12
            }
        for cut in 0..<payload.count {
            let read = payload[..<cut].withUnsafeBytes { RecordingAnnotation(payload: $0) }
            #expect((read == nil) == (cut < least))
        }
    }

    @Test func `a table of a later version is skipped in a list`() {
        let known = RecordingAnnotation.Table(.rules, family: .v6, number: 1)
        var payload = RecordingAnnotation.missingTables([known, known]).payload
        payload.replaceSubrange(12..<14, with: UInt16(4_242).hostBytes)
        let read = payload.withUnsafeBytes { RecordingAnnotation(payload: $0) }
        #expect(read == .missingTables([known]))
    }
}
