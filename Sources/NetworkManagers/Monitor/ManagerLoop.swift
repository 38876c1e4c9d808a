// SPDX-License-Identifier: Apache-2.0

#if NetworkManagers

    internal import Glibc
    internal import NetlinkReachability
    internal import SystemSupport

    /// The thread of a monitor: asks the managers, and again when something can have changed.
    ///
    /// Each question has a time limit, so that a manager that hangs delays the others by that and no more.
    struct ManagerLoop {
        /// A burst of signals is read once, this long after its first one.
        private static let pause = Duration.milliseconds(50)
        /// A manager that did not answer is asked again after this time.
        private static let silence = Duration.seconds(30)
        /// The first and the longest time between attempts to connect to the bus.
        private static let retries = Duration.seconds(1)...Duration.seconds(60)
        /// The order in which the managers are asked: those on a socket of their own first, as they are faster.
        private static let order: [ManagerName] = [.resolved, .networkd, .networkManager]

        private let shared: ManagerMonitor.Shared
        private var bus: SystemBus?
        private var readings: [ManagerName: ManagerReading] = [:]
        /// The managers to ask, and when.
        private var due = Set(order)
        private var dueAt = ContinuousClock.now
        private var connectAt = ContinuousClock.now
        private var retry = retries.lowerBound

        init(_ shared: ManagerMonitor.Shared) {
            self.shared = shared
        }

        /// Runs until the monitor is cancelled.
        mutating func run() {
            while !shared.isCancelled {
                if bus == nil, ContinuousClock.now >= connectAt { connect() }
                if !due.isEmpty, ContinuousClock.now >= dueAt { ask() }
                receive()
                wait()
            }
        }

        private mutating func connect() {
            do throws(ManagerError) {
                let bus = try SystemBus()
                // Without a signal of its owner, a manager that stops would be noticed with the next question only.
                for name in [NetworkManagerReader.busName, NetworkdReader.busName, ResolvedReader.busName] {
                    try bus.subscribe(
                        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                            + "member='NameOwnerChanged',arg0='\(name)'")
                }
                for rule in NetworkManagerReader.rules + NetworkdReader.rules + ResolvedReader.rules {
                    try bus.subscribe(rule)
                }
                self.bus = bus
                retry = Self.retries.lowerBound
                due = Set(Self.order)
                dueAt = .now
            } catch {
                lose(error)
            }
        }

        /// Drops the connection to the bus.
        ///
        /// Whatever was known from it is unknown.
        private mutating func lose(_ error: ManagerError) {
            bus = nil
            connectAt = .now + retry
            retry = min(retry * 2, Self.retries.upperBound)
            readings[.networkManager] = ManagerReading(error.state)
            due.remove(.networkManager)
            // Both can have answered over the bus.
            plan([.networkd, .resolved])
            publish()
        }

        /// Has managers asked soon.
        private mutating func plan(_ names: Set<ManagerName>, after pause: Duration = pause) {
            let instant = ContinuousClock.now + pause
            dueAt = due.isEmpty ? instant : min(dueAt, instant)
            due.formUnion(names)
        }

        private mutating func ask() {
            let host = HostInterfaces.current
            var silent: Set<ManagerName> = []
            // Without the bus, the state of NetworkManager is that of the bus.
            for name in Self.order where due.contains(name) && (bus != nil || name != .networkManager) {
                do throws(ManagerError) {
                    readings[name] = try ManagerReading.of(name, bus, host)
                } catch {
                    readings[name] = ManagerReading(error.state)
                    if error.state == .silent { silent.insert(name) }
                }
                publish()
            }
            due = []
            if !silent.isEmpty { plan(silent, after: Self.silence) }
            shared.finishFirstRound()
        }

        private func publish() {
            shared.publish(
                ManagerFacts(
                    [.resolved, .networkManager, .networkd].map {
                        ($0, readings[$0] ?? ManagerReading(.pending))
                    }))
        }

        /// Takes the signals that have arrived, also those that arrived during a call.
        private mutating func receive() {
            if shared.takeNetworkChange() { plan([.networkd, .resolved]) }
            guard let bus else { return }
            var named: Set<ManagerName> = []
            do throws(ManagerError) {
                try bus.process { path, member, first in
                    // A change of an owner names the manager, another signal comes from its path.
                    let place =
                        member == "NameOwnerChanged"
                        ? first ?? "" : String(path.dropFirst()).replacing("/", with: ".")
                    if place.hasPrefix(NetworkManagerReader.busName) { named.insert(.networkManager) }
                    if place.hasPrefix(NetworkdReader.busName) { named.insert(.networkd) }
                    if place.hasPrefix(ResolvedReader.busName) { named.insert(.resolved) }
                }
                if !named.isEmpty { plan(named) }
            } catch {
                lose(error)
            }
        }

        private func wait() {
            var instants: [ContinuousClock.Instant] = []
            if !due.isEmpty { instants.append(dueAt) }
            if bus == nil { instants.append(connectAt) }
            let left =
                instants.min().map { max(.zero, ContinuousClock.now.duration(to: $0)).milliseconds } ?? -1
            // poll(2) ignores an entry with a negative descriptor.
            var descriptors = [
                pollfd(fd: shared.wakeup.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: bus?.descriptor ?? -1, events: bus?.events ?? 0, revents: 0),
            ]
            _ = poll(&descriptors, nfds_t(descriptors.count), left)
            if descriptors[0].revents != 0 { shared.wakeup.reset() }
        }
    }

#endif
