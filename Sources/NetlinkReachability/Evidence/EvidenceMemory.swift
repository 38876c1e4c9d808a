// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// What shows whether anything has answered, and when it was read.
struct AnswerReading: Sendable {
    let record: AnswerRecord
    let time: MonitorInstant
    let timeAsleep: Duration
}

/// What an observation of evidence stores between evaluations.
///
/// Times are milliseconds of the monitor's clock. That clock and the kernel's ages both stop while the machine
/// sleeps.
struct EvidenceMemory: Sendable {
    /// The next hop of packets: an interface, and a gateway unless the remote is on the link.
    struct NextHop: Hashable, Sendable {
        let interface: UInt32
        /// The gateway; `nil` for a remote on the link.
        let gateway: IPAddress?

        /// The gateway's entry in the neighbour table; `nil` without a gateway.
        var neighbour: Neighbour.Key? {
            gateway.map { Neighbour.Key(interfaceIndex: interface, address: $0) }
        }
    }

    /// A closed socket, as the kernel describes it.
    struct Closed: Sendable {
        let socket: ConnectedSocket
        /// When it was closed.
        let time: Int
    }

    /// The state of the connections over one next hop at one moment.
    struct Moment: Sendable {
        var time: Int
        var sockets: [ConnectedSocket] = []
        /// The sockets that were closed since the previous moment.
        var closed: [Closed] = []
        /// The gateway; `nil` if it is not known.
        var gateway: NeighbourReply?
    }

    /// How long an answer counts, and how long tries of a closed socket count.
    static let memory = 60_000
    /// How long a remote that answered once counts as a remote that answers.
    static let remoteMemory = 600_000
    /// The greatest number of stored remotes, and of stored closed sockets with unanswered tries.
    static let limit = 16_384

    /// Whether there was an earlier moment.
    private(set) var isContinued = false
    /// The time of the last moment.
    private(set) var time = 0
    /// Until this time, a closed connection does not cause the evidence to be read again.
    var nextReading = 0
    /// How long the machine had slept at the last moment.
    private(set) var timeAsleep = Duration.zero
    private var nextHops: [NextHop: NextHopMemory] = [:]
    /// The next hop of the last result.
    private var last: NextHop?
    private var probes = SeenProbes()
    /// The next hops of connections, valid until the network changes; `nil` for a connection without a next hop.
    var routes: [RouteQuery: NextHop?] = [:]

    /// Judges the connections of each next hop, and stores what the next evaluation needs.
    ///
    /// - Parameters:
    ///   - moments: The next hops of the path, with the state of the connections over each.
    ///   - time: The present time.
    ///   - timeAsleep: How long the machine has slept.
    /// - Returns: The evidence about a next hop that fails, unless another next hop has answered since; otherwise
    ///   the evidence about the next hop with the latest answer. Of several with the same verdict, the evidence about
    ///   the next hop of the last result: which of them has answered last changes all the time.
    mutating func judge(_ moments: [NextHop: Moment], at time: Int, timeAsleep: Duration) -> NetworkEvidence {
        if timeAsleep - self.timeAsleep >= MonitorTiming.sleepThreshold, isContinued {
            (nextHops, probes) = ([:], SeenProbes())
        }
        var found: [NextHop: NetworkEvidence] = [:]
        var next: [NextHop: NextHopMemory] = [:]
        probes.update(moments.values.lazy.flatMap(\.sockets), at: time, isContinued: isContinued)
        for (nextHop, moment) in moments {
            var memory = nextHops[nextHop] ?? NextHopMemory(since: isContinued ? time : .min)
            var evidence = memory.judge(moment, probes)
            (evidence.interfaceIndex, evidence.gatewayAddress) = (nextHop.interface, nextHop.gateway)
            found[nextHop] = evidence
            next[nextHop] = memory
        }
        (nextHops, self.time, self.timeAsleep, isContinued) = (next, time, timeAsleep, true)
        let best = found.reduce(nil) { (best: (key: NextHop, value: NetworkEvidence)?, other) in
            best.map { $0.value.isDecisive(beside: other.value) ? $0 : other } ?? other
        }
        if let last, let kept = found[last], kept.verdict == best?.value.verdict { return kept }
        last = best?.key
        return best?.value ?? NetworkEvidence()
    }

    /// The stored state for use after the network has changed.
    var withoutRoutes: EvidenceMemory {
        var memory = self
        memory.routes = [:]
        return memory
    }

    /// Whether a connection waits for an answer.
    ///
    /// The next reading is due sooner then.
    var isWaiting: Bool { nextHops.values.contains { $0.isWaiting } }

    /// The milliseconds until the current unanswered tries are old enough to count as silence; `nil` without such
    /// tries.
    var timeUntilSilence: Int? { nextHops.values.compactMap(\.timeUntilSilence).min() }
}

extension NetworkEvidence {
    private var ageOrNever: Duration { age ?? .seconds(Int64.max / 2) }

    /// Whether this evidence is preferred to that about another next hop of the same path.
    fileprivate func isDecisive(beside other: NetworkEvidence) -> Bool {
        switch (isSilent, other.isSilent) {
        case (true, false): other.verdict == .none || other.ageOrNever >= ageOrNever
        case (false, true): !other.isDecisive(beside: self)
        default: ageOrNever <= other.ageOrNever
        }
    }
}

/// The keepalive and window probes that were seen.
///
/// The kernel counts probes, but does not show when it sent them.
struct SeenProbes: Sendable {
    /// When each probe of a socket was first seen, by the socket's cookie.
    private var times: [UInt64: [Int]] = [:]
    private var isContinued = false
    private var now = 0

    mutating func update(_ sockets: some Sequence<ConnectedSocket>, at time: Int, isContinued: Bool) {
        var next: [UInt64: [Int]] = [:]
        for socket in sockets {
            guard let count = socket.openProbes else { continue }
            let known = times[socket.cookie] ?? []
            let kept = known.count > count ? [] : known
            next[socket.cookie] = kept + Array(repeating: time, count: count - kept.count)
        }
        (times, now, self.isContinued) = (next, time, isContinued)
    }

    /// The ages of a socket's probes, the newest first.
    ///
    /// At the first moment, they are estimated.
    ///
    /// - Parameters:
    ///   - socket: The socket.
    ///   - progress: The kernel's counters of the socket.
    ///   - answer: The age of the last answer on its path.
    /// - Returns: The ages in milliseconds.
    func ages(of socket: ConnectedSocket, _ progress: TCPProgress, lastAnswer answer: Int?) -> [Int] {
        guard isContinued else { return estimate(socket, progress, answer) }
        return (times[socket.cookie] ?? []).reversed().map { now - $0 }
    }

    private func estimate(_ socket: ConnectedSocket, _ progress: TCPProgress, _ answer: Int?) -> [Int] {
        guard socket.timer.kind == .window else {
            // The kernel does not show the keepalive interval.
            guard let answer, let own = socket.lastAnswer, answer >= own - 1_000 else { return [] }
            return (1..<max(1, progress.probes)).map { $0 * 1_000 }
        }
        func interval(_ backoff: Int) -> Int { min(progress.timeout << min(max(0, backoff), 20), 120_000) }
        var age = max(0, interval(progress.backoff) - socket.timer.expires)
        var ages = [age]
        for step in 0..<max(0, progress.probes - 1) {
            age += interval(progress.backoff - 1 - step)
            ages.append(age)
        }
        return ages
    }
}

extension ConnectedSocket {
    /// The age of the last answer; `nil` if there is none, or if it is not known.
    package var lastAnswer: Int? {
        // The timer of TIME_WAIT starts with the last segment.
        if state == .timeWait {
            return timer.kind == .timeWait ? max(0, EvidenceMemory.memory - timer.expires) : nil
        }
        // For SYN_SENT, the ages are the time since the machine started.
        guard state != .synSent, state != .closed, let progress else { return nil }
        return progress.lastAnswer
    }

    /// Whether the connection still has a socket and was answered at least once.
    fileprivate var isConnection: Bool { progress != nil && lastAnswer != nil }

    /// Whether the socket's packets fail inside of this host: because of its own firewall, or a removed address or
    /// route.
    var isStuck: Bool {
        guard let progress else { return false }
        return switch timer.kind {
        case .window:
            (progress.sendWindow ?? 0) > 0 && progress.unacknowledged == 0 && (progress.unsent ?? 0) > 0
                && progress.probes >= 3
        case .retransmission:
            state != .synSent && progress.retransmits >= 3
                && progress.totalRetransmits < progress.retransmits
        default: false
        }
    }

    /// The number of unanswered probes; `nil` if no probe is unanswered.
    var openProbes: Int? {
        guard state != .timeWait, state != .closed, let progress, progress.probes > 0,
            progress.totalRetransmits >= progress.retransmits
        else { return nil }
        return switch timer.kind {
        case .keepalive: progress.probes
        // If the window is open, this host itself could not send.
        case .window where (progress.sendWindow ?? 0) == 0: progress.probes
        default: nil
        }
    }

    /// The ages of all transmissions of the oldest unacknowledged data, or of the SYN, the newest first.
    var openTransmissions: [Int] {
        guard state != .timeWait, state != .closed, timer.kind == .retransmission, let progress,
            progress.unacknowledged > 0, progress.totalRetransmits >= progress.retransmits
        else { return [] }
        let last = max(0, progress.timeout - timer.expires)
        guard progress.retransmits > 0 else { return [state == .synSent ? last : progress.lastDataSent] }
        // The timeout was doubled after each of the last transmissions.
        let backoff = min(progress.backoff, 20)
        let base = progress.timeout >> backoff
        var ages = [last]
        for step in 0..<progress.retransmits {
            ages.append(ages[step] + (step < backoff ? base << (backoff - 1 - step) : base))
        }
        return ages
    }
}

extension TCPProgress {
    /// The age of the peer's last segment that counts as an answer.
    var lastAnswer: Int { min(lastAcknowledgement, lastDataReceived) }
}

extension ConnectedSocket {
    /// The number of unanswered tries of the socket, which `netflags sockets` shows.
    package var triesWithoutAnswer: Int {
        openProbes ?? openTransmissions.filter { $0 >= grace }.count
    }

    /// The age below which a try can still be answered.
    var grace: Int { max(300, 2 * (progress?.roundTrip ?? 0)) }
}

// MARK: - One next hop

/// What is stored about the connections over one next hop.
struct NextHopMemory: Sendable {
    /// The unanswered tries of a socket.
    private struct Open: Sendable {
        let remote: IPAddress
        let times: [Int]
        /// Whether the tries are to open a connection.
        let isNew: Bool
    }

    /// A silence that has begun.
    private struct Silence: Sendable {
        let since: Int
        let isOfOneRemote: Bool
    }

    /// Tries by remote address.
    private struct Tries {
        private(set) var times: [IPAddress: [Int]] = [:]

        mutating func add(_ times: [Int], to remote: IPAddress) {
            self.times[remote, default: []] += times
        }

        var count: Int { times.values.reduce(0) { $0 + $1.count } }
        var oldest: Int? { times.values.lazy.flatMap(\.self).min() }
        var newest: Int? { times.values.lazy.flatMap(\.self).max() }
    }

    /// When packets began to use this next hop.
    ///
    /// Earlier events do not count.
    private let since: Int
    /// The time of the last answer.
    private var answered: Int?
    /// The time of each remote's last answer.
    private var remotes: [IPAddress: Int] = [:]
    /// The unanswered tries by socket cookie, including closed sockets.
    private var open: [UInt64: Open] = [:]
    private var silence: Silence?
    /// The time of the newest unanswered try.
    private var asked: Int?
    /// Since when the gateway is silent; `nil` if it is not silent.
    private var gatewaySilence: Int?
    /// Whether a connection or the gateway owes an answer.
    private(set) var isWaiting = false
    /// See ``EvidenceMemory/timeUntilSilence``.
    private(set) var timeUntilSilence: Int?

    init(since: Int) {
        self.since = since
    }

    /// Judges the state of one moment.
    mutating func judge(_ moment: EvidenceMemory.Moment, _ probes: SeenProbes) -> NetworkEvidence {
        let now = moment.time
        recordAnswers(moment)
        isWaiting = false
        var known = Tries()
        var others = Tries()
        var waiting = 0
        func add(_ tries: Open) {
            let isKnown = remotes[tries.remote].map { now - $0 < EvidenceMemory.remoteMemory } ?? false
            if isKnown {
                known.add(tries.times, to: tries.remote)
            } else if tries.isNew {
                others.add(tries.times, to: tries.remote)
            }
        }
        var present: Set<UInt64> = []
        for socket in moment.sockets where present.insert(socket.cookie).inserted {
            let (times, isOpen) = openTries(of: socket, probes, now)
            if isOpen { isWaiting = true }
            if times.isEmpty {
                open[socket.cookie] = nil
            } else {
                if socket.isConnection { waiting += 1 }
                let tries = Open(remote: socket.flow.remote, times: times, isNew: socket.state == .synSent)
                add(tries)
                open[socket.cookie] = tries
            }
        }
        for tries in takeVanished(present, now) { add(tries) }
        updateSilence(known, now)
        updateGateway(moment.gateway, now)
        // A connection was closed without any answer. The program may soon try the next one.
        if moment.closed.contains(where: { ($0.socket.progress?.segmentsReceived ?? 1) == 0 }) {
            isWaiting = true
        }
        var evidence = NetworkEvidence()
        evidence.connections = moment.sockets.count(where: \.isConnection)
        evidence.waitingConnections = waiting
        decide(&evidence, moment, known, others)
        return evidence
    }

    /// Records the times of answers.
    private mutating func recordAnswers(_ moment: EvidenceMemory.Moment) {
        let now = moment.time
        func record(_ time: Int, _ remote: IPAddress) {
            if time >= since { remotes[remote] = max(remotes[remote] ?? .min, time) }
        }
        func recordAnswer(_ time: Int) {
            if time >= since { answered = max(answered ?? .min, time) }
        }
        for socket in moment.sockets {
            guard let age = socket.lastAnswer else { continue }
            recordAnswer(now - age)
            record(now - age, socket.flow.remote)
        }
        for closed in moment.closed {
            guard let progress = closed.socket.progress, progress.segmentsReceived ?? 0 > 0 else { continue }
            record(closed.time, closed.socket.flow.remote)
            // For a socket that was never connected, the ages are the time since the machine started.
            if progress.lastAnswer < EvidenceMemory.remoteMemory {
                recordAnswer(closed.time - progress.lastAnswer)
            }
        }
        remotes = remotes.filter { now - $0.value < EvidenceMemory.remoteMemory }
        if remotes.count > EvidenceMemory.limit {
            let kept = remotes.sorted { $0.value > $1.value }.prefix(EvidenceMemory.limit / 2)
            remotes = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
        }
    }

    /// The times of a socket's unanswered tries, and whether the socket waits for an answer.
    private func openTries(
        of socket: ConnectedSocket,
        _ probes: SeenProbes,
        _ now: Int
    ) -> (times: [Int], isOpen: Bool) {
        guard let progress = socket.progress else { return ([], false) }
        let age = answered.map { now - $0 }
        let ages =
            if socket.isStuck { [Int]() } else if socket.openProbes != nil {
                probes.ages(of: socket, progress, lastAnswer: age)
            } else {
                socket.openTransmissions
            }
        let isOpen =
            socket.state == .synSent || progress.retransmits > 0 || progress.probes > 0 || socket.isStuck
        // Tries from before the last answer of the path or of the socket were answered, or their packets were lost by
        // chance.
        let limit = [age, socket.lastAnswer].compactMap(\.self).min() ?? .max / 2
        let times = ages.filter { $0 < limit + 50 && $0 >= socket.grace }.map { now - $0 }
        return (times.filter { $0 >= since }, isOpen)
    }

    /// The tries of sockets that no longer exist, which count for a while.
    private mutating func takeVanished(_ present: Set<UInt64>, _ now: Int) -> [Open] {
        var vanished: [UInt64: Open] = [:]
        for (cookie, tries) in open where !present.contains(cookie) {
            let times = tries.times.filter { now - $0 < EvidenceMemory.memory && $0 > answered ?? .min }
            guard !times.isEmpty, vanished.count < EvidenceMemory.limit else { continue }
            vanished[cookie] = Open(remote: tries.remote, times: times, isNew: tries.isNew)
        }
        open = open.filter { present.contains($0.key) }
        open.merge(vanished) { first, _ in first }
        return Array(vanished.values)
    }

    private mutating func updateSilence(_ tries: Tries, _ now: Int) {
        timeUntilSilence = nil
        if let newest = tries.newest { asked = newest }
        if let oldest = tries.oldest {
            let isOfOne = tries.times.count == 1
            let left = (isOfOne ? 8_000 : 3_000) - (now - oldest)
            if left > 0 {
                timeUntilSilence = left
            } else if tries.count >= 5, silence?.isOfOneRemote ?? true {
                silence = Silence(since: min(oldest, silence?.since ?? .max), isOfOneRemote: isOfOne)
            }
        }
        guard let begun = silence else { return }
        let isAnswered = answered.map { $0 > begun.since + 1 } ?? false
        let isOver = asked.map { now - $0 > EvidenceMemory.memory } ?? false
        if isAnswered || isOver { silence = nil } else { isWaiting = true }
    }

    private mutating func updateGateway(_ gateway: NeighbourReply?, _ now: Int) {
        switch gateway?.state {
        case .failed: gatewaySilence = gatewaySilence ?? now
        // For this state, the kernel's count begins at 3.
        case .incomplete where gateway?.probes ?? 0 >= 5: gatewaySilence = gatewaySilence ?? now
        case .probe where gateway?.probes ?? 0 >= 2: gatewaySilence = gatewaySilence ?? now
        case .incomplete, .probe: break
        // The kernel removes the entry of a neighbour that has not answered.
        case nil: if let begun = gatewaySilence, answered ?? .min > begun { gatewaySilence = nil }
        default: gatewaySilence = nil
        }
        if gatewaySilence != nil { isWaiting = true }
    }

    /// Sets the first verdict that applies.
    private func decide(
        _ evidence: inout NetworkEvidence,
        _ moment: EvidenceMemory.Moment,
        _ known: Tries,
        _ others: Tries
    ) {
        let now = moment.time
        let age = answered.map { now - $0 }
        let hasQuiet = age.map { $0 >= 3_000 } ?? true
        let confirmed = moment.gateway?.confirmed
        evidence.gatewayConfirmed = confirmed.map(Duration.milliseconds)
        evidence.lastAnswer = age.map(Duration.milliseconds)
        evidence.age = evidence.lastAnswer
        evidence.describe(known.times, now)
        func answers(within limit: Int) -> NetworkEvidence.Gateway {
            let isValid = [.reachable, .stale, .delay].contains(moment.gateway?.state)
            return isValid && (confirmed.map { $0 <= limit } ?? false) ? .answers : .unknown
        }
        evidence.gateway = answers(within: EvidenceMemory.memory)
        if gatewaySilence != nil {
            (evidence.verdict, evidence.gateway) = (.gatewaySilent, .silent)
            evidence.tries = moment.gateway?.requests ?? 0
        } else if let silence {
            evidence.verdict = .silent
            evidence.age = .milliseconds(now - silence.since)
            evidence.gateway = answers(within: min(now - silence.since, age ?? .max) - 1_500)
        } else if hasQuiet, moment.sockets.contains(where: \.isStuck) {
            evidence.verdict = .notLeaving
        } else if hasQuiet, others.times.count >= 2, others.count >= 5, let oldest = others.oldest,
            now - oldest >= 3_000
        {
            evidence.verdict = .newConnectionsUnanswered
            evidence.age = .milliseconds(now - oldest)
            evidence.describe(others.times, now)
        } else if let age, age <= EvidenceMemory.memory {
            evidence.verdict = .answered
        }
    }
}

extension NetworkEvidence {
    /// Sets the counts and ages of tries.
    fileprivate mutating func describe(_ times: [IPAddress: [Int]], _ now: Int) {
        tries = times.values.reduce(0) { $0 + $1.count }
        remotes = times.count
        onlyRemote = times.count == 1 ? times.keys.first : nil
        lastTry = times.values.lazy.flatMap(\.self).max().map { .milliseconds(now - $0) }
    }
}

extension NeighbourReply {
    /// The number of unanswered requests.
    ///
    /// By default, the kernel sends three before it gives up.
    fileprivate var requests: Int {
        switch state {
        case .incomplete: max(0, probes - 3)
        case .probe: probes
        default: 3
        }
    }
}
