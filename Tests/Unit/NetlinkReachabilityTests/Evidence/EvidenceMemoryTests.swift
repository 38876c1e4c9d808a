// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import RoutingModel
import Testing

@testable import NetlinkReachability

/// What follows from the connections of one next hop, as tables.
struct EvidenceMemoryTests {
    private static let nextHop = EvidenceMemory.NextHop(interface: 2, gateway: gateway)
    private static let other = EvidenceMemory.NextHop(interface: 3, gateway: nil)

    /// A connection to the remote with a number, which is its cookie.
    private static func connection(
        _ number: UInt8,
        cookie: UInt64? = nil,
        _ state: TCPState = .established,
        answered age: Int = 30_000,
        timer: TCPTimer = TCPTimer(),
        _ change: (inout TCPProgress) -> Void = { _ in }
    ) -> ConnectedSocket {
        var progress = TCPProgress()
        (progress.lastAcknowledgement, progress.lastDataReceived) = (age, age + 10)
        (progress.timeout, progress.roundTrip, progress.lastDataSent) = (200, 10, age + 10)
        change(&progress)
        let flow = ConnectedSocket.Flow(
            ipProtocol: 6, local: IPAddress(192, 0, 2, 2), remote: IPAddress(203, 0, 113, number),
            localPort: 40_000, remotePort: 443)
        return ConnectedSocket(
            flow, cookie: cookie ?? UInt64(number), state: state, timer: timer, progress: progress)
    }

    /// A connection whose data was sent again, the first of the timeouts being `base`; the last time some milliseconds
    /// ago.
    private static func repeating(
        _ number: UInt8,
        cookie: UInt64? = nil,
        _ state: TCPState = .established,
        answered age: Int = 30_000,
        times: Int = 2,
        base: Int = 600,
        last: Int = 2_000
    ) -> ConnectedSocket {
        let timeout = base << times
        let timer = TCPTimer(.retransmission, expires: timeout - last)
        return connection(number, cookie: cookie, state, answered: age, timer: timer) {
            ($0.retransmits, $0.totalRetransmits, $0.backoff) = (times, times, times)
            ($0.timeout, $0.unacknowledged) = (timeout, 1)
        }
    }

    /// A connection in SYN_SENT, whose ages are the time since the machine has started.
    private static func beginning(_ number: UInt8, last: Int = 2_000) -> ConnectedSocket {
        var socket = repeating(number, .synSent, answered: 5_000_000, last: last)
        socket.progress?.roundTrip = 0
        return socket
    }

    /// A connection with probes without an answer.
    private static func probing(
        _ number: UInt8,
        _ kind: TCPTimer.Kind,
        probes: Int,
        answered age: Int = 30_000,
        window: Int? = 0
    ) -> ConnectedSocket {
        connection(number, answered: age, timer: TCPTimer(kind, expires: 100)) {
            ($0.probes, $0.sendWindow, $0.unsent) = (probes, window, 100)
        }
    }

    private static func timeWait(_ number: UInt8, expires: Int) -> ConnectedSocket {
        var socket = connection(number, .timeWait, timer: TCPTimer(.timeWait, expires: expires))
        socket.progress = nil
        return socket
    }

    /// Moments one after the other, with their times in milliseconds.
    private struct Story {
        var memory = EvidenceMemory()

        mutating func look(
            at time: Int,
            _ sockets: [ConnectedSocket] = [],
            closed: [ConnectedSocket] = [],
            gateway: NeighbourReply? = nil,
            through nextHop: EvidenceMemory.NextHop = EvidenceMemoryTests.nextHop,
            asleep: Duration = .zero
        ) -> NetworkEvidence {
            let moment = EvidenceMemory.Moment(
                time: time, sockets: sockets, closed: closed.map { .init(socket: $0, time: time) },
                gateway: gateway)
            return memory.judge([nextHop: moment], at: time, timeAsleep: asleep)
        }
    }

    private static func once(_ sockets: [ConnectedSocket], _ gateway: NeighbourReply? = nil) -> String {
        var story = Story()
        return "\(story.look(at: 9_000_000, sockets, gateway: gateway))"
    }

    // MARK: The verdict

    @Test(
        arguments: [
            ([connection(1, answered: 100)], nil, "answered 0.1 s ago (1 of 1 connection)"),
            (
                [connection(1, answered: 100), connection(2)], NeighbourReply(.reachable, confirmed: 300),
                "answered 0.1 s ago (2 of 2 connections, gateway confirmed 0.3 s ago)"
            ),
            ([connection(1, answered: 60_000)], nil, "answered 60 s ago (1 of 1 connection)"),
            ([connection(1, answered: 60_001)], nil, "no evidence: nothing asked for 60 s"),
            ([], nil, "no evidence: nothing has answered"),
        ] as [([ConnectedSocket], NeighbourReply?, String)]
    )
    func `an answer counts for 60 s`(sockets: [ConnectedSocket], gateway: NeighbourReply?, words: String) {
        #expect(Self.once(sockets, gateway) == words)
    }

    @Test(
        arguments: [
            ([repeating(1), repeating(2)], "silent for 3.8 s: 6 tries to 2 remotes"),
            ([repeating(1), repeating(2, times: 1)], "silent for 3.8 s: 5 tries to 2 remotes"),
            ([repeating(1, times: 1), repeating(2, times: 1)], "answered 30 s ago (0 of 2 connections)"),
            (
                [repeating(1, last: 1_190), repeating(2, last: 1_190)],
                "answered 30 s ago (0 of 2 connections)"
            ),
            (
                [repeating(1, times: 4, base: 250, last: 4_250)],
                "silent for 8.0 s: 5 tries to 203.0.113.1 alone"
            ),
            ([repeating(1, times: 4, base: 250, last: 4_240)], "answered 30 s ago (0 of 1 connection)"),
            ([repeating(1, times: 3, base: 1_000)], "answered 30 s ago (0 of 1 connection)"),
            // Two connections to one remote are one remote.
            ([repeating(1), repeating(1, cookie: 9)], "answered 30 s ago (0 of 2 connections)"),
        ]
    )
    func `silence takes five tries to two remotes and 3 s, or to one remote and 8 s`(
        sockets: [ConnectedSocket], words: String
    ) {
        #expect(Self.once(sockets) == words)
    }

    @Test(
        arguments: [
            (NeighbourReply(.reachable, confirmed: 2_300), "; the gateway answers"),
            (NeighbourReply(.stale, confirmed: 2_300), "; the gateway answers"),
            (NeighbourReply(.delay, confirmed: 2_300), "; the gateway answers"),
            (NeighbourReply(.reachable, confirmed: 2_301), ""),
            (NeighbourReply(.permanent, confirmed: 0), ""),
            (NeighbourReply(.reachable), ""),
            (NeighbourReply(.probe, confirmed: 0, probes: 1), ""),
        ]
    )
    func `the gateway answers if it was confirmed 1.5 s after the silence began`(
        reply: NeighbourReply, words: String
    ) {
        #expect(
            Self.once([Self.repeating(1), Self.repeating(2)], reply)
                == "silent for 3.8 s: 6 tries to 2 remotes\(words)")
    }

    @Test(
        arguments: [
            (NeighbourReply(.failed), .gatewaySilent),
            (NeighbourReply(.incomplete, probes: 5), .gatewaySilent),
            (NeighbourReply(.incomplete, probes: 4), .answered),
            (NeighbourReply(.probe, probes: 2), .gatewaySilent),
            (NeighbourReply(.probe, probes: 1), .answered),
            (NeighbourReply(.stale), .answered), (nil, .answered),
        ] as [(NeighbourReply?, NetworkEvidence.Verdict)]
    )
    func `a gateway is silent after two requests for its address`(
        reply: NeighbourReply?, verdict: NetworkEvidence.Verdict
    ) {
        var story = Story()
        let evidence = story.look(at: 1_000, [Self.connection(1, answered: 10)], gateway: reply)
        #expect(evidence.verdict == verdict)
        #expect((evidence.gateway == .silent) == (verdict == .gatewaySilent))
    }

    @Test func `a gateway stays silent until it has answered`() {
        var story = Story()
        let steps = [
            NeighbourReply(.failed), NeighbourReply(.incomplete, probes: 3), NeighbourReply(.failed),
            NeighbourReply(.reachable, confirmed: 0),
        ].enumerated().map { story.look(at: 1_000 * $0, gateway: $1).verdict }
        #expect(steps == [.gatewaySilent, .gatewaySilent, .gatewaySilent, .none])
        // The kernel forgets it meanwhile.
        #expect(story.look(at: 5_000, gateway: NeighbourReply(.failed)).verdict == .gatewaySilent)
        #expect(story.look(at: 6_000).verdict == .gatewaySilent)
        #expect(story.look(at: 7_000, [Self.connection(1, answered: 10)]).verdict == .answered)
        #expect(
            Self.once([], NeighbourReply(.failed)) == "the gateway is silent: no answer to 3 requests")
    }

    /// The kernel counts a repeat that it could not send, and the total only what was sent.
    private static let refused = connection(
        1, answered: 3_000, timer: TCPTimer(.retransmission, expires: 100)
    ) {
        ($0.retransmits, $0.totalRetransmits, $0.unacknowledged) = (3, 0, 1)
    }

    @Test(
        arguments: [
            (refused, .notLeaving), (probing(1, .window, probes: 3, answered: 3_000, window: 9), .notLeaving),
            (probing(1, .window, probes: 2, answered: 3_000, window: 9), .answered),
            // The window of the peer is closed: it is the peer that does not take more.
            (probing(1, .window, probes: 3, answered: 3_000), .answered),
            (probing(1, .keepalive, probes: 3, answered: 3_000, window: 9), .answered),
        ] as [(ConnectedSocket, NetworkEvidence.Verdict)]
    )
    func `packets do not leave if they were not sent three times`(
        socket: ConnectedSocket, verdict: NetworkEvidence.Verdict
    ) {
        var story = Story()
        #expect(story.look(at: 5_000, [socket]).verdict == verdict)
        var answered = Story()
        #expect(answered.look(at: 5_000, [socket, Self.connection(2, answered: 2_999)]).verdict == .answered)
    }

    @Test func `new connections count apart from those to remotes that have answered`() {
        let beginnings = [Self.beginning(7), Self.beginning(8)]
        #expect(
            Self.once(beginnings) == "new connections unanswered for 3.8 s: 6 tries to 2 remotes")
        #expect(
            Self.once([Self.beginning(7)]) == "no evidence: nothing has answered", "one remote")
        #expect(
            Self.once(beginnings + [Self.connection(1, answered: 2_999)])
                == "answered 2.9 s ago (1 of 1 connection)")
        // They have answered: their silence is that of the path.
        #expect(
            Self.once(beginnings + [7, 8].map { Self.connection($0, cookie: 70 + UInt64($0)) })
                == "silent for 3.8 s: 6 tries to 2 remotes")
    }

    @Test func `the first verdict that fits counts`() {
        let silent = [Self.repeating(1), Self.repeating(2)]
        #expect(
            Self.once(silent + [Self.refused], NeighbourReply(.failed)).hasPrefix("the gateway is silent"))
        #expect(Self.once([Self.refused, Self.beginning(7), Self.beginning(8)]).hasPrefix("packets do not"))
        let refused = Self.connection(3, answered: 30_000, timer: Self.refused.timer) {
            ($0.retransmits, $0.totalRetransmits, $0.unacknowledged) = (3, 0, 1)
        }
        #expect(Self.once(silent + [refused]).hasPrefix("silent"))
    }

    // MARK: What counts

    @Test(
        arguments: [
            (connection(1, answered: 70), 70), (timeWait(1, expires: 59_000), 1_000),
            (connection(1, .synSent, answered: 70), nil), (connection(1, .closed, answered: 70), nil),
            // A half-closed connection without a socket has another timer.
            (connection(1, .timeWait, answered: 70), nil),
        ] as [(ConnectedSocket, Int?)]
    )
    func `the age of an answer is that of the last acknowledgement or data`(
        socket: ConnectedSocket, age: Int?
    ) {
        #expect(socket.lastAnswer == age)
    }

    @Test(
        arguments: [
            // Nothing was repeated yet: the data was sent once.
            (TCPTimer(.retransmission, expires: 150), 0, 0, 200, [900]),
            // 200, 400 and 800 ms: the timeout is 1,600 ms now, of which 1,100 ms are left.
            (TCPTimer(.retransmission, expires: 1_100), 3, 3, 1_600, [500, 1_300, 1_700, 1_900]),
            // A timeout was not doubled for each repeat: thin streams, and probes for losses.
            (TCPTimer(.retransmission, expires: 300), 3, 1, 400, [100, 300, 500, 700]),
            // The timer is late.
            (TCPTimer(.retransmission, expires: 900), 1, 1, 400, [0, 200]),
            (TCPTimer(.keepalive, expires: 100), 1, 1, 400, []), (TCPTimer(), 0, 0, 200, []),
        ]
    )
    func `the tries of a connection follow from its timeout`(
        timer: TCPTimer, retransmits: Int, backoff: Int, timeout: Int, ages: [Int]
    ) {
        let socket = Self.connection(1, timer: timer) {
            ($0.retransmits, $0.totalRetransmits, $0.backoff) = (retransmits, retransmits, backoff)
            ($0.timeout, $0.unacknowledged, $0.lastDataSent) = (timeout, 1, 900)
        }
        #expect(socket.openTransmissions == ages)
    }

    @Test func `the first SYN was sent when its timer began`() {
        let timer = TCPTimer(.retransmission, expires: 400)
        let socket = Self.connection(1, .synSent, answered: 5_000_000, timer: timer) {
            ($0.timeout, $0.unacknowledged) = (1_000, 1)
        }
        #expect(socket.openTransmissions == [600])
    }

    @Test func `tries that did not leave this host, and those without data, are none`() {
        var socket = Self.repeating(1)
        socket.progress?.totalRetransmits = 1
        #expect(socket.openTransmissions == [])
        socket = Self.repeating(1)
        socket.progress?.unacknowledged = 0
        #expect(socket.openTransmissions == [])
    }

    @Test func `a try counts once it is older than 300 ms and than two round trips`() {
        func tries(last: Int, roundTrip: Int) -> Int {
            var socket = Self.repeating(1, times: 1, last: last)
            socket.progress?.roundTrip = roundTrip
            return socket.triesWithoutAnswer
        }
        #expect(tries(last: 299, roundTrip: 10) == 1)
        #expect(tries(last: 300, roundTrip: 10) == 2)
        #expect(tries(last: 300, roundTrip: 151) == 1)
        #expect(tries(last: 300, roundTrip: 500) == 0)
    }

    @Test func `a try before the last answer of the path does not count`() {
        let silent = [Self.repeating(1), Self.repeating(2)]
        #expect(
            Self.once(silent + [Self.connection(3, answered: 3_000)])
                == "answered 3.0 s ago (1 of 3 connections)")
        #expect(Self.once(silent + [Self.connection(3, answered: 3_800)]).hasPrefix("silent"))
    }

    @Test(arguments: [TCPTimer.Kind.keepalive, .window])
    func `probes are counted when they are seen`(kind: TCPTimer.Kind) {
        var story = Story()
        let words = (0...9).map { second in
            let sockets = [1, 2].map {
                Self.probing($0, kind, probes: min(second, 3), answered: 30_000 + 1_000 * second)
            }
            return story.look(at: 1_000 * second, sockets).verdict
        }
        // The third probe makes five, and the first is 3 s old a second later.
        #expect(words == Array(repeating: .answered, count: 4) + Array(repeating: .silent, count: 6))
    }

    @Test func `probes that were answered are forgotten`() {
        var story = Story()
        for second in 0...2 { _ = story.look(at: 1_000 * second, [Self.probing(1, .keepalive, probes: 1)]) }
        _ = story.look(at: 3_000, [Self.connection(1, answered: 100)])
        let evidence = story.look(
            at: 60_000, [Self.probing(1, .keepalive, probes: 1, answered: 57_100)])
        #expect(evidence.tries == 0)
    }

    @Test func `asked once, window probes are as far apart as the timeouts`() {
        let socket = Self.connection(1, answered: 90_000, timer: TCPTimer(.window, expires: 1_000)) {
            ($0.probes, $0.backoff, $0.timeout, $0.sendWindow) = (3, 3, 500, 0)
        }
        var seen = SeenProbes()
        seen.update([socket], at: 0, isContinued: false)
        #expect(socket.progress.map { seen.ages(of: socket, $0, lastAnswer: nil) } == [3_000, 5_000, 6_000])
    }

    // MARK: What is remembered

    @Test func `tries of sockets that have vanished count for 60 s`() {
        var story = Story()
        let known = [1, 2].map { Self.connection($0, cookie: 70 + UInt64($0), answered: 30_000) }
        _ = story.look(at: 0, known + [Self.beginning(1), Self.beginning(2)])
        // The tries were made 2,000, 3,200 and 3,800 ms before.
        #expect([10_000, 56_000, 57_000, 58_000].map { story.look(at: $0).tries } == [6, 6, 2, 0])
    }

    /// The row `slow` of `Tests/Tools/evidence/faults` with the clients of `busy`, as it was sampled: the round trip
    /// jumps to 5 s, which is an outage until the first answer.
    @Test func `a round trip of 5 s is silence until an answer, unless another peer is heard`() {
        let series: [(time: Int, sockets: [ConnectedSocket], heard: Int)] = [
            (
                3_100,
                [
                    Self.repeating(1, answered: 3_196, times: 3, base: 204, last: 1_208),
                    Self.repeating(2, answered: 3_496, times: 3, base: 204, last: 1_208),
                ], 600
            ),
            (
                3_600,
                [
                    Self.repeating(1, answered: 3_696, times: 4, base: 204, last: 44),
                    Self.repeating(2, answered: 3_996, times: 4, base: 204, last: 44),
                ], 100
            ),
            (
                5_100,
                [
                    Self.repeating(1, answered: 5_196, times: 4, base: 204, last: 1_544),
                    Self.repeating(2, answered: 5_496, times: 4, base: 204, last: 1_544),
                ], 600
            ),
            (5_600, [Self.connection(1, answered: 184), Self.connection(2, answered: 184)], 100),
        ]
        var (alone, beside) = (Story(), Story())
        let verdicts = series.map { alone.look(at: $0.time, $0.sockets).verdict }
        #expect(verdicts == [.answered, .silent, .silent, .answered])
        let others = series.map {
            beside.look(at: $0.time, $0.sockets + [Self.connection(6, answered: $0.heard)]).verdict
        }
        #expect(others == Array(repeating: .answered, count: 4))
    }

    @Test func `silence lasts until an answer`() {
        var story = Story()
        let silent = [Self.repeating(1), Self.repeating(2)]
        #expect(story.look(at: 0, silent).verdict == .silent)
        // The connections sleep: their last try is old.
        let asleep = [Self.repeating(1, answered: 40_000, last: 12_000)]
        #expect("\(story.look(at: 10_000, asleep))".contains(", the last 12 s ago"))
        #expect(story.look(at: 11_000, [Self.connection(1, answered: 100)]).verdict == .answered)
    }

    @Test func `silence ends 60 s after the last try`() {
        var story = Story()
        let silent = [Self.repeating(1), Self.repeating(2)]
        #expect(story.look(at: 0, silent).verdict == .silent)
        #expect(story.look(at: 57_000).verdict == .silent)
        #expect("\(story.look(at: 59_000))" == "no evidence: nothing asked for 89 s")
    }

    @Test func `silence of one remote becomes that of several`() {
        var story = Story()
        let one = Self.repeating(1, times: 4, base: 250, last: 4_250)
        #expect(story.look(at: 0, [one]).onlyRemote == IPAddress(203, 0, 113, 1))
        #expect("\(story.look(at: 0, [one, Self.repeating(2)]))" == "silent for 8.0 s: 8 tries to 2 remotes")
    }

    @Test func `a remote that answered ten minutes ago counts as a new one`() {
        for (time, verdict) in [(599_000, .silent), (601_000, .newConnectionsUnanswered)]
            as [(Int, NetworkEvidence.Verdict)]
        {
            var story = Story()
            _ = story.look(at: 0, [Self.connection(1, answered: 0), Self.connection(2, answered: 0)])
            #expect(story.look(at: time, [Self.beginning(1), Self.beginning(2)]).verdict == verdict)
        }
    }

    @Test func `what happened before the path has changed does not count`() {
        var story = Story()
        #expect(story.look(at: 0, [Self.connection(1, answered: 100)]).verdict == .answered)
        let connection = Self.connection(1, answered: 1_100)
        #expect(
            "\(story.look(at: 1_000, [connection], through: Self.other))"
                == "no evidence: nothing has answered")
        #expect(
            story.look(at: 5_000, [Self.repeating(1), Self.repeating(2)], through: Self.other).tries == 0)
        #expect(
            story.look(at: 9_000, [Self.connection(1, answered: 10)], through: Self.other).verdict
                == .answered)
        // Back on the first path, its earlier answers do not count either.
        #expect(story.look(at: 10_000, [Self.connection(1, answered: 1_010)]).verdict == .none)
    }

    @Test func `what happened before the last sleep does not count`() {
        var story = Story()
        #expect(story.look(at: 0, [Self.repeating(1), Self.repeating(2)]).verdict == .silent)
        let after = story.look(at: 100, [Self.repeating(1), Self.repeating(2)], asleep: .seconds(3_600))
        #expect("\(after)" == "no evidence: nothing has answered")
        #expect(
            story.look(at: 200, [Self.connection(1, answered: 10)], asleep: .seconds(3_600)).verdict
                == .answered)
    }

    @Test func `a closed socket counts if it has received anything`() {
        func closed(_ segments: Int, answered: Int = 500) -> ConnectedSocket {
            Self.connection(1, .closed, answered: answered) { $0.segmentsReceived = segments }
        }
        var story = Story()
        #expect(story.look(at: 0, closed: [closed(0)]).verdict == .none)
        #expect(
            "\(story.look(at: 1_000, closed: [closed(4)]))" == "answered 0.5 s ago (0 of 0 connections)")
        var refused = Story()
        // The ages of one that was never connected are those of the machine.
        #expect(refused.look(at: 1_000, closed: [closed(1, answered: 5_000_000)]).verdict == .none)
    }

    @Test func `of two next hops the one that fails counts, unless the other has answered since`() {
        func judge(_ other: [ConnectedSocket]) -> NetworkEvidence.Verdict {
            var memory = EvidenceMemory()
            let failing = EvidenceMemory.Moment(time: 0, sockets: [Self.repeating(1), Self.repeating(2)])
            let second = EvidenceMemory.Moment(time: 0, sockets: other)
            return memory.judge([Self.nextHop: failing, Self.other: second], at: 0, timeAsleep: .zero).verdict
        }
        #expect(judge([]) == .silent)
        #expect(judge([Self.connection(3, answered: 5_000)]) == .silent)
        #expect(judge([Self.connection(3, answered: 100)]) == .answered)
    }

    @Test func `of next hops with the same verdict, the one of the last result counts while packets take it`()
    {
        var memory = EvidenceMemory()
        /// The interfaces and the ages of their last answers, in seconds.
        func interface(at second: Int, _ answers: [UInt32: Int]) -> UInt32? {
            let moments = answers.map { interface, age in
                let sockets = [Self.connection(UInt8(interface), answered: age * 1_000)]
                let nextHop = EvidenceMemory.NextHop(interface: interface, gateway: gateway)
                return (nextHop, EvidenceMemory.Moment(time: second * 1_000, sockets: sockets))
            }
            let evidence = memory.judge(
                Dictionary(uniqueKeysWithValues: moments), at: second * 1_000, timeAsleep: .zero)
            #expect(evidence.verdict == .answered)
            return evidence.interfaceIndex
        }
        #expect(interface(at: 100, [2: 1, 3: 20]) == 2)
        #expect(interface(at: 101, [2: 2, 3: 0]) == 2)
        #expect(interface(at: 102, [2: 3, 3: 1]) == 2)
        // It has not answered for 60 s.
        #expect(interface(at: 160, [2: 61, 3: 1]) == 3)
        #expect(interface(at: 161, [2: 0, 3: 1]) == 3)
        // Packets take another path.
        #expect(interface(at: 162, [4: 0]) == 4)
    }

    @Test(
        arguments: [
            ([connection(1)], false), ([repeating(1)], true), ([beginning(1)], true),
            ([probing(1, .keepalive, probes: 1)], true), ([], false),
        ]
    )
    func `the next look is sooner while something waits for an answer`(
        sockets: [ConnectedSocket], isWaiting: Bool
    ) {
        var story = Story()
        _ = story.look(at: 0, sockets)
        #expect(story.memory.isWaiting == isWaiting)
    }

    @Test func `more than 10,000 connections are read less often`() {
        #expect(EvidenceTiming.pause(isWaiting: false, connections: 2_000) == 4_000)
        #expect(EvidenceTiming.pause(isWaiting: false, connections: 10_000) == 20_000)
        #expect(EvidenceTiming.pause(isWaiting: true, connections: 10_000) == 1_000)
        #expect(EvidenceTiming.pause(isWaiting: true, connections: 20_000) == 40_000)
    }
}
