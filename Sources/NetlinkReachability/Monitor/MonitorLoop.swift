// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import RoutingModel
internal import SystemSupport

/// The monitor's thread: waits for events, feeds them to ``MonitorState`` and performs the actions that it returns.
///
/// All members belong to that thread. The only user code that it runs is handlers with
/// ``NetworkSource/Delivery/onMonitorThread``. It calls them without a lock and in a consistent state. Observations
/// that they start or stop arrive as mail.
///
/// A structure that is not copied: each access to a property of a class would be checked at run time.
struct MonitorLoop: ~Copyable {
    /// How many notifications are read before due evaluations are performed.
    private static let readLimit = 4_096

    private let mailbox: MonitorMailbox
    private let monitor: SharedMonitor
    private let clock: any MonitorClock
    /// The source of notifications; `nil` for facts that do not change, and while the feed is broken.
    private var feed: (any ChangeFeed)?
    /// The number of polls when the feed was last opened or an attempt failed; `nil` while the feed works.
    private var pollsOfFailure: UInt64?
    private var followsNeighbours = false
    /// The feed of closed connections, open while an observation depends on answers.
    private var closings: (any ClosingFeed)?
    /// The newest connections that were closed since the evidence was last read.
    private var closed: [EvidenceMemory.Closed] = []
    /// Opened for the first observation that depends on them, and kept: closing them takes the kernel milliseconds.
    private var files: ResolverFiles?
    private let sleepWatch = SleepWatch()

    private var state: MonitorState
    private var observations = ObservationTable<any Observation>()
    private var listeners: [MonitorState.ID: any Observation] = [:]
    /// The observations whose handlers may have to be called.
    ///
    /// Kept so that its memory is reused.
    private var changed: [any Observation] = []
    /// The number of notifications that were read.
    private var notifications = 0
    private var whenIdle: [@Sendable (MonitorInstant?) -> Void] = []
    private var isEnding = false
    private var timeAsleep: Duration
    /// The counters of this thread.
    private var counters = MonitorCounters()
    /// The part of ``counters`` that the monitor's totals already include.
    private var published = MonitorCounters()

    init(mailbox: MonitorMailbox, feed: (any ChangeFeed)?, monitor: SharedMonitor) {
        self.mailbox = mailbox
        self.monitor = monitor
        clock = monitor.clock
        self.feed = feed
        let refusedGroups = feed?.refusedGroups ?? 0
        state = MonitorState(isPolling: feed == nil || refusedGroups > 0)
        timeAsleep = clock.timeAsleep
        counters.refusedGroups = UInt64(refusedGroups)
    }

    /// Runs until the last observation has ended.
    mutating func run() {
        while true {
            // Mail first: an observation must be known before notifications that came after it are read.
            readMail()
            if isEnding { break }
            let isDrained = readFeed()
            readClosings()
            let actions = state.advance(to: clock.now)
            for action in actions.others { perform(action) }
            // Before the evaluations of the poll, so that no change between the two is missed.
            if let pollsOfFailure, state.polls != pollsOfFailure { reopenFeed() }
            evaluate(actions.evaluations)
            // A handler can have posted mail.
            if actions.isEmpty, isDrained, mailbox.isEmpty {
                publish()
                becomeIdle()
                wait()
            }
        }
        publish()
        becomeIdle()
    }

    private mutating func becomeIdle() {
        for body in whenIdle { body(state.deadline) }
        whenIdle = []
    }

    // MARK: Events

    private mutating func readMail() {
        let now = clock.now
        for mail in mailbox.readAll() {
            switch mail {
            case .add(let id, let observation, let deadline):
                add(observation, id, deadline, now)
            case .remove(let id):
                if listeners.removeValue(forKey: id) != nil {
                    state.deadlines.set(id, to: nil)
                } else {
                    observations[id] = nil
                    state.remove(id)
                    if state.answerReaders.isEmpty { (closings, closed) = (nil, []) }
                }
            case .resolved(let id, let generation, let result):
                state.resolved(id, generation: generation, result, at: now)
            case .evaluateAll:
                state.evaluateAll(at: now)
                state.note(.request)
            case .resolverChanged:
                resolverChanged()
            case .whenIdle(let body):
                whenIdle.append(body)
            case .end:
                isEnding = true
            }
        }
    }

    private mutating func add(
        _ observation: any Observation,
        _ id: MonitorState.ID,
        _ deadline: MonitorInstant?,
        _ now: MonitorInstant
    ) {
        if observation.isEvent {
            listeners[id] = observation
            state.deadlines.set(id, to: deadline)
            return watchResolverFiles()
        }
        observations[id] = observation
        let named = observation.namedTarget
        if named != nil || observation.inputs.contains(.nameservers) { watchResolverFiles() }
        if observation.inputs.contains(.neighbours) { followNeighbours(now) }
        if observation.inputs.contains(.answers), closings == nil { closings = feed?.closings() }
        state.insert(
            id,
            isName: named != nil,
            inputs: observation.inputs,
            deadline: deadline,
            at: now
        )
        observation.deliver()
    }

    /// Reads notifications.
    ///
    /// - Returns: Whether the queue is empty.
    private mutating func readFeed() -> Bool {
        guard let feed else { return true }
        let now = clock.now
        do {
            for _ in 0..<Self.readLimit {
                let reading = try feed.read { change in
                    notifications += 1
                    state.note(change, at: now)
                }
                switch reading {
                case .changes: continue
                case .overrun:
                    notifications += 1
                    state.overran(at: now)
                    announce(.notificationsLost)
                case .empty:
                    state.drained()
                    return true
                }
            }
            return false
        } catch {
            // A broken socket delivers no more notifications: poll instead, and try to open another socket at each
            // poll.
            counters.copy(feed.counters)
            self.feed = nil
            state.setPolling(true, at: now)
            pollsOfFailure = state.polls
            return true
        }
    }

    /// Opens a feed to replace a broken one.
    private mutating func reopenFeed() {
        pollsOfFailure = state.polls
        guard let opened = try? monitor.opening() else { return }
        let isWhole = (!followsNeighbours || opened.followNeighbours()) && opened.refusedGroups == 0
        // A new feed counts from zero.
        publish()
        counters.copy(FeedCounters())
        published.copy(FeedCounters())
        feed = opened
        pollsOfFailure = nil
        if isWhole { state.setPolling(false, at: clock.now) }
    }

    private mutating func watchResolverFiles() {
        if files == nil { files = ResolverFiles(monitor.resolverFiles) }
    }

    /// Makes the feed read notifications of neighbours.
    ///
    /// Called for the first observation that depends on neighbours.
    private mutating func followNeighbours(_ now: MonitorInstant) {
        guard !followsNeighbours else { return }
        followsNeighbours = true
        guard let feed, !feed.followNeighbours() else { return }
        counters.refusedGroups += 1
        state.setPolling(true, at: now)
    }

    /// The most closed connections that are remembered, and that are read at once.
    private static let closingLimit = 4_096

    private mutating func readClosings() {
        guard let closings else { return }
        let now = clock.now
        let found = closings.read(limit: Self.closingLimit).filter {
            !$0.flow.remote.isLoopback && $0.flow.remote != $0.flow.local
        }
        guard !found.isEmpty else { return }
        if let last = state.lastAnswerReading { closed.removeAll { $0.time <= last.milliseconds } }
        closed += found.map { EvidenceMemory.Closed(socket: $0, time: now.milliseconds) }
        closed.removeFirst(max(0, closed.count - Self.closingLimit))
        state.socketsClosed(at: now)
    }

    private mutating func wait() {
        func entry(_ descriptor: Int32?, _ events: Int32 = POLLIN) -> pollfd {
            pollfd(fd: descriptor ?? -1, events: Int16(events), revents: 0)
        }
        var entries = [
            entry(mailbox.wakeUp.descriptor), entry(feed?.descriptor), entry(sleepWatch?.descriptor),
            entry(files?.descriptor), entry(files?.mountDescriptor, POLLPRI), entry(closings?.descriptor),
        ]
        // Until the next scheduled work, rounded up; -1 for no limit.
        let timeout = state.deadline.flatMap(clock.delay(until:))?.milliseconds ?? -1
        // If a sandbox refuses poll(2), any descriptor can be ready, so each is read.
        let isRefused = waitForDescriptors(&entries, milliseconds: timeout) < 0
        func isReady(_ index: Int) -> Bool { isRefused || entries[index].revents != 0 }
        if isReady(0) { mailbox.wakeUp.reset() }
        if isReady(2) { sleepWatch?.reset() }
        if isReady(3) || isReady(4), files?.readChanges() == true { resolverChanged() }
        detectSleep()
    }

    private mutating func detectSleep() {
        let timeAsleep = clock.timeAsleep
        defer { self.timeAsleep = timeAsleep }
        let duration = timeAsleep - self.timeAsleep
        guard duration >= MonitorTiming.sleepThreshold else { return }
        counters.sleeps += 1
        state.slept(at: clock.now)
        announce(.slept(duration))
    }

    private mutating func resolverChanged() {
        state.resolverChanged(at: clock.now)
        announce(.resolverConfigurationChanged)
    }

    private func announce(_ event: NetworkEvent) {
        for listener in listeners.values { listener.receive(event) }
    }

    // MARK: Actions

    private mutating func perform(_ action: MonitorState.Action) {
        switch action {
        case .expire(let id): (observations[id] ?? listeners[id])?.expire()
        case .resolve(let id, let generation): resolve(id, generation)
        case .lookAtPath: lookAtPath()
        }
    }

    /// Evaluates observations in batches, then calls the handlers that run on this thread.
    ///
    /// In this order a slow handler does not delay the evaluations.
    private mutating func evaluate(_ ids: [MonitorState.ID]) {
        let now = clock.now
        // The observations that are not evaluated yet.
        var items = ids.compactMap { id in observations[id].map { (id: id, observation: Optional($0)) } }
        // An evaluation makes several queries, and the kernel can notify of a change between them. Every notification
        // counts, because an observation's dependencies are known only after its evaluation.
        func isOutdated() -> Bool {
            let known = notifications
            _ = readFeed()
            return notifications != known
        }
        do throws(LateSource) {
            try monitor.facts.evaluate(items.count, isOutdated: isOutdated) {
                (place, known) throws(Interruption) -> EvaluationOutcome in
                let (id, observation) = items[place]
                let failure = state.names.error(of: id)
                known.resolution = state.names.resolution(of: id).map(ResolvedName.success)
                known.remembered = state.memory(of: id)
                if known.remembered != nil { known.closed = closed }
                // Without a resolution, the only result for a name is that the resolver cannot run.
                guard let observation, failure == nil || known.resolution != nil else { return (false, nil) }
                return try observation.evaluate(&known, onlyChanges: failure != nil)
            } take: { (place, outcome, dependencies) throws(LateSource) in
                guard let observation = items[place].observation else { return }
                let error = record(outcome, observation, items[place].id, dependencies, now)
                guard error?.number != ETIMEDOUT else { throw LateSource() }
                items[place].observation = nil
            }
        } catch {
            // Each further query would also time out, and no notification would be read meanwhile.
            state.stall(items.filter { $0.observation != nil }.map(\.id), at: now)
        }
        guard !changed.isEmpty else { return }
        for observation in changed { observation.deliver() }
        changed.removeAll(keepingCapacity: true)
    }

    /// The kernel or another source does not answer in time.
    private struct LateSource: Error {}

    /// Records the result of an observation.
    ///
    /// Returns the error if the evaluation has to be repeated.
    private mutating func record(
        _ outcome: Result<EvaluationOutcome, ReachabilityError>,
        _ observation: any Observation,
        _ id: MonitorState.ID,
        _ dependencies: (_ isDetailed: Bool) -> RouteDependencies,
        _ now: MonitorInstant
    ) -> ReachabilityError? {
        let error = state.names.error(of: id)
        var result: EvaluationOutcome =
            switch outcome {
            case .success(let outcome): outcome
            case .failure(let error): (observation.fail(error), error)
            }
        // The resolver has its own retries, so its failure does not count as a failed evaluation.
        if let error, result.error == nil, !result.isChange, state.names.markReported(id) {
            result.isChange = observation.fail(error)
        }
        counters.evaluations += 1
        if let trace = monitor.trace {
            trace(NetworkTrace(observation.trace(), state.causes, isChange: result.isChange))
        }
        if result.isChange {
            counters.deliveries += 1
            changed.append(observation)
        }
        guard let error = result.error else {
            state.evaluated(id, dependencies(false), at: now)
            return nil
        }
        counters.failures += 1
        state.evaluated(id, nil, at: now)
        return error
    }

    private mutating func resolve(_ id: MonitorState.ID, _ generation: UInt32) {
        guard let name = observations[id]?.namedTarget?.name else {
            return state.resolved(id, generation: generation, .success(.notFound), at: clock.now)
        }
        counters.resolutions += 1
        let (mailbox, work) = (mailbox, monitor.work)
        work?.begin()
        _ = monitor.facts.resolver.begin(name, countedBy: work) { result in
            mailbox.post(.resolved(id, generation: generation, result))
            work?.end()
        }
    }

    private mutating func lookAtPath() {
        let paths = monitor.facts.values(of: IPAddress.Family.allCases) {
            (family, known) throws(Interruption) in
            try known.evaluation(
                of: Candidate.defaultPath(family), from: nil, ReachabilityOptions(), .reason
            ).answer?.path
        }
        state.names.sawPath(paths.map { try? $0.get() })
    }

    private mutating func publish() {
        counters.polls = state.polls
        counters.failedResolutions = state.names.failedCount
        counters.lateResolutions = state.names.lateCount
        if let feed { counters.copy(feed.counters) }
        monitor.add(counters, after: published)
        published = counters
    }
}
