// SPDX-License-Identifier: Apache-2.0

#if NetworkManagers

    internal import Glibc
    internal import NetlinkReachability
    internal import SystemSupport

    /// The thread of a monitor.
    ///
    /// It queries the managers, and queries them again when facts can have changed.
    ///
    /// Each query has a time limit, so a manager that hangs delays the others by at most that limit.
    struct ManagerLoop {
        /// The shortest and the longest time between attempts to connect to the bus.
        private static let retries = Duration.seconds(1)...Duration.seconds(60)
        /// The order of queries: managers with a socket of their own come first, because they are faster.
        private static let order: [ManagerName] = [.resolved, .networkd, .networkManager]

        /// The names of the managers on the bus.
        private static let busNames: [(ManagerName, String)] = [
            (.networkManager, NetworkManagerReader.busName), (.networkd, NetworkdReader.busName),
            (.resolved, ResolvedReader.busName),
        ]

        private let shared: ManagerMonitor.Shared
        /// The connection on which signals arrive.
        private var bus: SystemBus?
        private var readings: [ManagerName: ManagerReading] = [:]
        private var schedule = ManagerSchedule()
        private var connectAt = ContinuousClock.now
        private var retry = retries.lowerBound

        init(_ shared: ManagerMonitor.Shared) {
            self.shared = shared
            schedule.begin(at: .now)
        }

        /// Runs until the monitor is cancelled.
        mutating func run() {
            while !shared.isCancelled {
                if bus == nil, ContinuousClock.now >= connectAt { connect() }
                if let next = schedule.next, ContinuousClock.now >= next { ask() }
                if !receive() { wait() }
            }
        }

        private mutating func connect() {
            do throws(ManagerError) {
                let bus = try SystemBus()
                // Without a signal about its owner, only the next query would show that a manager has stopped.
                for (_, name) in Self.busNames {
                    try bus.subscribe(
                        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                            + "member='NameOwnerChanged',arg0='\(name)'")
                }
                for rule in NetworkManagerReader.rules + NetworkdReader.rules + ResolvedReader.rules {
                    try bus.subscribe(rule)
                }
                self.bus = bus
                retry = Self.retries.lowerBound
                schedule.begin(at: .now)
            } catch {
                lose(error)
            }
        }

        /// Drops the connection to the bus.
        ///
        /// Facts that were known through it become unknown.
        private mutating func lose(_ error: ManagerError) {
            bus = nil
            connectAt = .now + retry
            retry = min(retry * 2, Self.retries.upperBound)
            readings[.networkManager] = ManagerReading(error.state)
            // Without the bus, the state of NetworkManager is that of the bus.
            schedule.remove(.networkManager)
            // networkd and resolved may have answered over D-Bus, so they are queried again over varlink.
            schedule.plan([.networkd, .resolved], at: .now)
            publish()
        }

        /// Queries the managers that are due.
        ///
        /// Uses a separate connection: signals that arrive during a call on the same connection are queued in memory,
        /// and a manager can send them faster than it answers.
        private mutating func ask() {
            let host = HostInterfaces.current
            var opened: SystemBus?
            func connect() throws(ManagerError) -> SystemBus {
                if let opened { return opened }
                let connection = try SystemBus()
                opened = connection
                return connection
            }
            for name in Self.order where schedule.take(name, at: .now) {
                do throws(ManagerError) {
                    readings[name] = try ManagerReading.of(name, host, hasBus: bus != nil, connect)
                } catch {
                    readings[name] = ManagerReading(error.state)
                    if error.state == .silent { schedule.silence(of: name, at: .now) }
                }
                publish()
            }
            shared.finishFirstRound()
        }

        private func publish() {
            shared.publish(
                ManagerFacts(
                    [.resolved, .networkManager, .networkd].map {
                        ($0, readings[$0] ?? ManagerReading(.pending))
                    }))
        }

        /// Processes the signals that have arrived.
        ///
        /// - Returns: Whether more may have arrived.
        private mutating func receive() -> Bool {
            if shared.takeNetworkChange() { schedule.plan([.networkd, .resolved], at: .now) }
            guard let bus else { return false }
            var named: Set<ManagerName> = []
            do throws(ManagerError) {
                let isMore = try bus.process { signal in
                    // A signal about a change of an owner contains the manager's name. Other signals come from the
                    // manager's path.
                    let isOfOwner = signal.member == "NameOwnerChanged"
                    if isOfOwner, signal.sender != "org.freedesktop.DBus" { return }
                    let place =
                        isOfOwner
                        ? signal.first ?? "" : String(signal.path.dropFirst()).replacing("/", with: ".")
                    for (name, busName) in Self.busNames where place.hasPrefix(busName) {
                        named.insert(name)
                        if isOfOwner { schedule.forgetSilence(of: name) }
                    }
                }
                schedule.plan(named, at: .now)
                return isMore
            } catch {
                lose(error)
                return false
            }
        }

        private func wait() {
            let instants = [schedule.next, bus == nil ? connectAt : nil]
            let left =
                instants.compactMap(\.self).min().map {
                    max(.zero, ContinuousClock.now.duration(to: $0)).milliseconds
                } ?? -1
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
