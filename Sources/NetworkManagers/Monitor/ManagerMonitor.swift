// SPDX-License-Identifier: Apache-2.0

#if NetworkManagers

    internal import Glibc
    public import NetlinkReachability
    internal import SystemSupport

    /// Follows what the managers of this host know and the kernel does not: costs, captive portals, connections, DNS.
    ///
    /// ```swift
    /// let managers = try ManagerMonitor()
    /// let path = try NetworkSource.kernel.path(metering: managers.metering)
    /// print(path.isExpensive, path.availableInterfaces.map { managers.facts[$0].connection })
    ///
    /// let observation = try NetworkSource.kernel.observe(.path(metering: managers.metering)) { print($0) }
    /// ```
    ///
    /// It asks NetworkManager, systemd-networkd and systemd-resolved, none of which needs root. It asks again after
    /// their signals, after a change of the path or of the name servers, and when one of them starts or stops. Where a
    /// cost changes, everything that is observed on the source is evaluated again, so that observed paths have the new
    /// one. If a `NetworkMetering` of your own reads other facts, call `evaluateAgain()` in `onChange`.
    ///
    /// A manager that is not running, refuses or hangs is no error: its facts are unknown, and
    /// ``ManagerFacts/state(of:)`` says why. One that hangs after it has answered is noticed with the next query
    /// only.
    ///
    /// It has one thread, which waits without a timer while the bus and all managers answer. Keep the monitor for as
    /// long as the facts are to be followed.
    public final class ManagerMonitor: Sendable {
        /// What the thread and the monitor share.
        final class Shared: Sendable {
            private struct State {
                var facts = ManagerFacts()
                var isCancelled = false
                var hasNetworkChanged = false
            }

            /// Wakes the thread.
            let wakeup: EventFD
            /// Readable for good once every manager was asked.
            let firstRound: EventFD
            private let source: NetworkSource
            private let change: (@Sendable (ManagerFacts) -> Void)?
            private let state = Locked(State())

            init(
                _ source: NetworkSource, _ change: (@Sendable (ManagerFacts) -> Void)?
            ) throws(SystemCallError) {
                wakeup = try EventFD()
                firstRound = try EventFD()
                self.source = source
                self.change = change
            }

            var facts: ManagerFacts { state.withLock { $0.facts } }

            var isCancelled: Bool { state.withLock { $0.isCancelled } }

            func cancel() {
                state.withLock { $0.isCancelled = true }
                wakeup.signal()
            }

            /// Called when the kernel has another path.
            func networkChanged() {
                state.withLock { $0.hasNetworkChanged = true }
                wakeup.signal()
            }

            func takeNetworkChange() -> Bool {
                state.withLock { exchange(&$0.hasNetworkChanged, with: false) }
            }

            func finishFirstRound() { firstRound.signal() }

            /// Called by the thread with what is known now.
            func publish(_ facts: ManagerFacts) {
                let before = state.withLock { state in
                    guard !state.isCancelled, state.facts != facts else { return facts }
                    return exchange(&state.facts, with: facts)
                }
                if !facts.hasCosts(of: before) { source.evaluateAgain() }
                if facts.interfaces != before.interfaces, !isCancelled { change?(facts) }
            }
        }

        private let shared: Shared
        private let observation: NetworkObservation<NetworkPath>?

        /// Starts to follow the managers, and waits for their first answers.
        ///
        /// - Parameters:
        ///   - source: The network whose paths have the facts.
        ///   - limit: How long to wait at most. After it the facts are unknown until they arrive.
        ///   - change: Called on the monitor's thread with facts about interfaces that differ from those before. It
        ///     must not wait.
        /// - Throws: `ReachabilityError` if there are no descriptors or threads left.
        public init(
            source: NetworkSource = .kernel,
            waitingAtMost limit: Duration = .seconds(1),
            onChange change: (@Sendable (ManagerFacts) -> Void)? = nil
        ) throws(ReachabilityError) {
            let operation = "follow the network's managers"
            let shared: Shared
            do {
                shared = try Shared(source, change)
            } catch {
                throw ReachabilityError(operation: operation, number: error.number)
            }
            let isRunning = BackgroundThread.start("netlink-managers") {
                var loop = ManagerLoop(shared)
                loop.run()
            }
            guard isRunning else { throw ReachabilityError(operation: operation, number: EAGAIN) }
            self.shared = shared
            // Neither manager on a socket of its own announces changes to users. Without an observation, which fails as
            // that of a path does, the facts are those of the start and of the bus.
            observation = try? source.observe(.path(), initial: .skip) { _ in shared.networkChanged() }
            var descriptor = pollfd(fd: shared.firstRound.descriptor, events: Int16(POLLIN), revents: 0)
            _ = poll(&descriptor, 1, limit.milliseconds)
        }

        deinit {
            cancel()
        }

        /// What the managers say now.
        public var facts: ManagerFacts { shared.facts }

        /// The costs that the managers say, for a path or its observation; it keeps the facts, and not the monitor.
        public var metering: NetworkMetering {
            NetworkMetering { [shared] in shared.facts.cost(of: $0) }
        }

        /// Ends the monitor.
        ///
        /// The facts stay as they are. A call of the handler that is under way, or about to begin, is not prevented.
        public func cancel() {
            observation?.cancel()
            shared.cancel()
        }
    }

#else

    /// What follows the managers of this host, if the trait NetworkManagers of the package is enabled.
    @available(*, unavailable, message: "enable the trait: .package(..., traits: [\"NetworkManagers\"])")
    public final class ManagerMonitor: Sendable {}

#endif
