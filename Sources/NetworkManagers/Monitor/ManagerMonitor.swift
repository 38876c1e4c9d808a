// SPDX-License-Identifier: Apache-2.0

#if NetworkManagers

    internal import Glibc
    public import NetlinkReachability
    internal import SystemSupport

    /// Observes the managers of this host for facts that the kernel does not have: costs, captive portals,
    /// connections, DNS.
    ///
    /// ```swift
    /// let source = NetworkSource.kernel
    /// let managers = try ManagerMonitor(source: source)
    /// for try await path in source.updates(of: .path(metering: managers.metering)) {
    ///     print(path.isExpensive, path.availableInterfaces.map { managers.facts[$0].connection })
    /// }
    /// ```
    ///
    /// ``query`` has the facts as a query of the source. It can be observed and waited for like any other query.
    ///
    /// The monitor queries NetworkManager, systemd-networkd and systemd-resolved. None of them requires root. It
    /// queries them again after their signals, after a change of the path or of the name servers, and when one of
    /// them starts or stops. When facts change, everything that is observed on the source is evaluated again.
    /// Observed paths then have the new costs, even with a `NetworkMetering` of your own that reads the facts.
    ///
    /// A manager that is not running, refuses or hangs is not an error: its facts are unknown, and
    /// ``ManagerFacts/state(of:)`` has the reason. If a manager hangs after it has answered, only the next query
    /// shows that.
    ///
    /// The monitor has one thread, which waits without a timer while the bus and all managers answer. Keep the
    /// monitor for as long as the facts are needed.
    public final class ManagerMonitor: Sendable {
        /// The state that the thread and the monitor share.
        final class Shared: Sendable {
            private struct State {
                var facts = ManagerFacts()
                var isCancelled = false
                var hasNetworkChanged = false
            }

            /// Wakes the thread.
            let wakeup: EventFD
            /// Becomes readable after every manager was queried, and stays readable.
            let firstRound: EventFD
            private let source: NetworkSource
            private let state = Locked(State())

            init(_ source: NetworkSource) throws(SystemCallError) {
                wakeup = try EventFD()
                firstRound = try EventFD()
                self.source = source
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

            /// Called by the thread with the present facts.
            func publish(_ facts: ManagerFacts) {
                let isChange = state.withLock { state in
                    guard !state.isCancelled, state.facts != facts else { return false }
                    state.facts = facts
                    return true
                }
                if isChange { source.evaluateAgain() }
            }
        }

        private let shared: Shared
        private let observation: NetworkObservation<NetworkPath>?

        /// Starts to observe the managers.
        ///
        /// Their facts are unknown until they answer.
        ///
        /// ```swift
        /// let managers = try ManagerMonitor()
        /// try await NetworkSource.kernel.wait(for: managers.query, timeout: .seconds(1)) { !$0.isPending }
        /// ```
        ///
        /// - Parameter source: The network whose paths get the facts, and which answers ``query``.
        /// - Throws: `ReachabilityError` if no descriptor or thread is left.
        public init(source: NetworkSource = .kernel) throws(ReachabilityError) {
            let operation = "follow the network's managers"
            let shared: Shared
            do {
                shared = try Shared(source)
            } catch {
                throw ReachabilityError(operation: operation, number: error.number)
            }
            let isRunning = BackgroundThread.start("netlink-managers") {
                var loop = ManagerLoop(shared)
                loop.run()
            }
            guard isRunning else { throw ReachabilityError(operation: operation, number: EAGAIN) }
            self.shared = shared
            // The managers with a socket of their own do not announce changes to users. If this observation fails, as
            // the observation of a path would, the facts are those of the start and of the bus.
            observation = try? source.observe(.path(), initial: .skip) { _ in shared.networkChanged() }
        }

        /// Blocks the thread until every manager was queried.
        package func waitForAnswers(atMost limit: Duration) {
            waitForDescriptor(shared.firstRound.descriptor, POLLIN, atMost: limit)
        }

        deinit {
            cancel()
        }

        /// The present facts of the managers.
        public var facts: ManagerFacts { shared.facts }

        /// The facts as a query, for the source of this monitor.
        ///
        /// Other sources are not notified of changes.
        ///
        /// ```swift
        /// for try await facts in source.updates(of: managers.query) { print(facts.interfaces.count) }
        /// ```
        ///
        /// It retains the facts, but not the monitor.
        public var query: NetworkQuery<ManagerFacts> {
            NetworkQuery("facts of the managers") { [shared] in shared.facts }
        }

        /// The costs according to the managers, for a path or its observation.
        ///
        /// It retains the facts, but not the monitor.
        public var metering: NetworkMetering {
            NetworkMetering { [shared] in shared.facts.cost(of: $0) }
        }

        /// Ends the monitor.
        ///
        /// The last facts remain.
        public func cancel() {
            observation?.cancel()
            shared.cancel()
        }
    }

#else

    /// Observes the managers of this host, if the package trait NetworkManagers is enabled.
    @available(*, unavailable, message: "enable the trait: .package(..., traits: [\"NetworkManagers\"])")
    public final class ManagerMonitor: Sendable {}

#endif
