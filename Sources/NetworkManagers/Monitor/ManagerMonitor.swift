// SPDX-License-Identifier: Apache-2.0

#if NetworkManagers

    internal import Glibc
    public import NetlinkReachability
    internal import SystemSupport

    /// Follows what the managers of this host know and the kernel does not: costs, captive portals, connections, DNS.
    ///
    /// ```swift
    /// let source = NetworkSource.kernel
    /// let managers = try ManagerMonitor(source: source)
    /// for try await path in source.updates(of: .path(metering: managers.metering)) {
    ///     print(path.isExpensive, path.availableInterfaces.map { managers.facts[$0].connection })
    /// }
    /// ```
    ///
    /// ``query`` is the facts as a query of the source, which can be observed and waited for as all others are.
    ///
    /// It asks NetworkManager, systemd-networkd and systemd-resolved, none of which needs root. It asks again after
    /// their signals, after a change of the path or of the name servers, and when one of them starts or stops. When
    /// facts change, everything that is observed on the source is evaluated again, so that observed paths have the new
    /// costs, also where a `NetworkMetering` of your own reads the facts.
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

            /// Called by the thread with what is known now.
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

        /// Starts to follow the managers, whose facts are unknown until they answer.
        ///
        /// ```swift
        /// let managers = try ManagerMonitor()
        /// try await NetworkSource.kernel.wait(for: managers.query, timeout: .seconds(1)) { !$0.isPending }
        /// ```
        ///
        /// - Parameter source: The network whose paths have the facts, and which answers ``query``.
        /// - Throws: `ReachabilityError` if there are no descriptors or threads left.
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
            // Neither manager on a socket of its own announces changes to users. Without an observation, which fails as
            // that of a path does, the facts are those of the start and of the bus.
            observation = try? source.observe(.path(), initial: .skip) { _ in shared.networkChanged() }
        }

        /// Blocks the thread until every manager was asked.
        package func waitForAnswers(atMost limit: Duration) {
            waitForDescriptor(shared.firstRound.descriptor, POLLIN, atMost: limit)
        }

        deinit {
            cancel()
        }

        /// What the managers say now.
        public var facts: ManagerFacts { shared.facts }

        /// The facts as a query, for the source of this monitor: another one does not learn of changes.
        ///
        /// ```swift
        /// for try await facts in source.updates(of: managers.query) { print(facts.interfaces.count) }
        /// ```
        ///
        /// It keeps the facts, and not the monitor.
        public var query: NetworkQuery<ManagerFacts> {
            NetworkQuery("facts of the managers") { [shared] in shared.facts }
        }

        /// The costs that the managers say, for a path or its observation; it keeps the facts, and not the monitor.
        public var metering: NetworkMetering {
            NetworkMetering { [shared] in shared.facts.cost(of: $0) }
        }

        /// Ends the monitor.
        ///
        /// The facts stay as they are.
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
