// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute
internal import SystemSupport

/// The monitor's thread: waits, reads, asks and tells.
///
/// Everything here belongs to that thread alone.
///
/// It runs nothing of the user's, so no callback can keep it.
final class MonitorLoop {
    struct User {
        let subject: MonitorSubject
        let sink: any FlagsSink
    }

    /// How many reads there are before due questions are looked at.
    private static let readLimit = 4_096

    private let engine: MonitorMailbox
    let source: NetworkFacts
    let routing: DependencyTrackingSource
    let clock: any MonitorClock
    private let hub: SharedMonitor
    /// `nil` after it broke.
    private var feed: (any ChangeFeed)?
    /// Opened for the first name: to close it takes the kernel milliseconds.
    private var files: ResolverFiles?
    private let clockWatch = ClockWatch()

    var state: MonitorState
    var users: [MonitorState.ID: User] = [:]
    var paths: [MonitorState.ID: MonitoredPath] = [:]
    private var whenIdle: [@Sendable (MonitorInstant?) -> Void] = []
    private var isEnding = false
    private var timeAsleep: Duration
    /// What this thread has counted.
    var counters = MonitorCounters()
    /// What of it the hub knows.
    private var published = MonitorCounters()

    init(engine: MonitorMailbox, feed: any ChangeFeed, hub: SharedMonitor) {
        self.engine = engine
        source = hub.facts
        // Where the kernel cannot tell of it, it is as good as broken.
        let isWatched = engine.waitSet.add(feed.descriptor, as: WaitToken.announcements)
        self.feed = isWatched ? feed : nil
        self.hub = hub
        clock = hub.clock
        routing = DependencyTrackingSource(source.routing)
        state = MonitorState(isPolling: !isWatched || feed.refusedGroups > 0)
        timeAsleep = clock.timeAsleep
        counters.refusedGroups = UInt64(feed.refusedGroups)
        if let clockWatch { _ = engine.waitSet.add(clockWatch.descriptor, as: WaitToken.systemClock) }
    }

    /// Runs until the last user has left.
    func run() {
        while true {
            // In this order no target is new to an announcement that came after it.
            readMail()
            if isEnding { break }
            let isDrained = readFeed()
            let actions = state.advance(to: clock.now)
            for action in actions { perform(action) }
            if actions.isEmpty, isDrained {
                publish()
                becomeIdle()
                wait()
            }
        }
        publish()
        becomeIdle()
    }

    private func becomeIdle() {
        let waiting = whenIdle
        whenIdle = []
        for body in waiting { body(state.deadline) }
    }

    // MARK: What comes in

    /// Reads announcements; true when there are no more.
    private func readFeed() -> Bool {
        guard let feed else { return true }
        let now = clock.now
        do {
            for _ in 0..<Self.readLimit {
                switch try feed.read({ state.note($0, at: now) }) {
                case .changes: continue
                case .overrun: state.noteOverrun(at: now)
                case .empty:
                    state.noteDrained()
                    return true
                }
            }
            return false
        } catch {
            // A broken socket tells nothing any more: look by the clock instead.
            keepFeedCounters()
            engine.waitSet.remove(feed.descriptor)
            self.feed = nil
            state.notePollingNeeded(at: now)
            return true
        }
    }

    private func readMail() {
        let now = clock.now
        for mail in engine.takeMail() {
            switch mail {
            case .add(let id, let subject, let sink, let flags):
                users[id] = User(subject: subject, sink: sink)
                if subject.name != nil { watchResolverFiles() }
                state.insert(id, isName: subject.name != nil, flags: flags, at: now)
            case .addPath(let id, let restriction, let sink, let path):
                paths[id] = MonitoredPath(restriction: restriction, sink: sink, told: path)
                watchResolverFiles()
                state.insertPath(id, at: now)
            case .remove(let id):
                users[id] = nil
                paths[id] = nil
                state.remove(id)
            case .resolved(let id, let generation, let resolution):
                state.resolved(id, generation: generation, resolution, at: now)
            case .resolverChanged:
                state.noteResolverChange(at: now)
            case .whenIdle(let body):
                whenIdle.append(body)
            case .end:
                isEnding = true
            }
        }
    }

    private func watchResolverFiles() {
        guard files == nil, let opened = ResolverFiles(hub.resolverFiles) else { return }
        files = opened
        _ = engine.waitSet.add(opened.descriptor, as: WaitToken.resolverFiles)
    }

    private func wait() {
        let ready = engine.waitSet.wait(milliseconds: timeout)
        if ready.contains(WaitToken.wakeUp) { engine.wakeUp.reset() }
        if ready.contains(WaitToken.resolverFiles), files?.readChanges() == true {
            state.noteResolverChange(at: clock.now)
        }
        if ready.contains(WaitToken.systemClock) { clockWatch?.reset() }
        lookForSleep()
    }

    /// In milliseconds, rounded up; -1 for ever.
    private var timeout: Int32 {
        guard let deadline = state.deadline, let delay = clock.delay(until: deadline) else { return -1 }
        return Int32(min((delay.nanoseconds + 999_999) / 1_000_000, Int(Int32.max)))
    }

    private func lookForSleep() {
        let timeAsleep = clock.timeAsleep
        defer { self.timeAsleep = timeAsleep }
        guard timeAsleep - self.timeAsleep >= MonitorTiming.sleepThreshold else { return }
        counters.sleeps += 1
        state.noteSleep(at: clock.now)
    }

    // MARK: What goes out

    private func perform(_ action: MonitorState.Action) {
        switch action {
        case .ask(let ids): ask(ids)
        case .resolve(let id, let generation): resolve(id, generation)
        case .lookAtPath: lookAtPath()
        }
    }

    private func resolve(_ id: MonitorState.ID, _ generation: UInt32) {
        guard let subject = users[id]?.subject, let name = subject.name else {
            return state.resolved(id, generation: generation, .notFound, at: clock.now)
        }
        counters.resolved += 1
        let (engine, resolver, work) = (engine, source.resolver, hub.work)
        work?.begin()
        let hasStarted = BackgroundThread.start("netlink-resolve") {
            let resolution = resolver.resolveOrFail(name, subject.options, work)
            engine.post(.resolved(id, generation: generation, resolution))
            work?.end()
        }
        if !hasStarted {
            work?.end()
            let failure = HostResolution.failed("no thread to be had")
            state.resolved(id, generation: generation, failure, at: clock.now)
        }
    }

    private func lookAtPath() {
        let evaluator = TargetEvaluator(facts: source, options: ReachabilityOptions())
        state.sawPath(
            PathSignature(
                v4: try? evaluator.evaluateDefaultPath(.v4, detail: .flags).lookup?.summary,
                v6: try? evaluator.evaluateDefaultPath(.v6, detail: .flags).lookup?.summary
            )
        )
    }

    // MARK: Counting

    private func publish() {
        counters.polls = state.polls
        counters.lateResolutions = state.names.lateAnswers
        keepFeedCounters()
        hub.note(counters, after: published)
        published = counters
    }

    private func keepFeedCounters() {
        if let feed { counters.take(feed.counters) }
    }
}

extension HostResolver {
    /// Resolves a name; a resolver that cannot be run has failed for now.
    fileprivate func resolveOrFail(
        _ name: String,
        _ options: ReachabilityOptions,
        _ work: InFlightCounter?
    ) -> HostResolution {
        do {
            return try resolve(
                name,
                families: options.families,
                timeout: options.resolutionTimeout,
                countedBy: work
            )
        } catch {
            return .failed(error.text.isEmpty ? "errno \(error.number)" : error.text)
        }
    }
}
