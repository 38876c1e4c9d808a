// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability
package import RoutingModel

extension Recording {
    /// A kernel notification that answers can depend on.
    public struct Event: Hashable, Sendable, CustomStringConvertible {
        /// The object that has changed.
        public enum Subject: Hashable, Sendable {
            /// An interface, by its name.
            case interface(String, InterfaceChange)
            /// An address of an interface.
            case address(IPAddress, interface: String)
            /// A route: its destination, its first gateway and the name of its first interface.
            case route(IPPrefix, gateway: IPAddress?, interface: String?)
            /// A policy rule, by its priority.
            case rule(priority: UInt32)
            /// A nexthop object, by its number.
            case nexthop(id: UInt32)
            /// The settings of one interface or of all.
            case settings
        }

        /// The kind of change of an interface.
        public enum InterfaceChange: Hashable, Sendable {
            /// The interface appeared.
            case appeared
            /// The interface was removed.
            case removed
            /// The interface was set up, or set down.
            case wentUp, wentDown
            /// The interface gained a carrier, or lost its carrier.
            case carrierGained, carrierLost
            /// Another property changed, such as the operational state or the name.
            case changed
        }

        /// When the recorder received the notification.
        public let time: Time
        /// The object that has changed.
        public let subject: Subject
        /// Whether the object was removed.
        public let isRemoval: Bool
        /// Who requested the change.
        public let origin: Origin
        /// The event in one sentence with its origin, such as `eth0 lost its carrier`, or `the default route via
        /// 192.0.2.1 on eth0 was removed on request (port 1262)`.
        public let description: String
        /// The kernel's message.
        package let change: NetworkChange
        /// Whether the kernel sets an interface down because it is being removed or moved.
        var isClosing = false
    }

    /// A statement about the recording itself: the beginning of a gap, or a clock that was set.
    ///
    /// From the beginning of a gap to the end of the next dump, the network is not recorded. A gap begins at the last
    /// message before it. If one of these instants is known, it begins there instead: when the machine fell asleep,
    /// when the recorder last read notifications, or when it ended on request.
    public struct Mark: Hashable, Sendable {
        /// The kind of statement.
        public enum Kind: Hashable, Sendable {
            /// The kernel dropped notifications.
            case overrun
            /// The machine slept for this long.
            case suspended(Duration)
            /// The recorder could not read notifications for this long: it was stopped, blocked by its disk, or had
            /// no processor time.
            case stalled(Duration)
            /// The recorder could not write, with this errno, such as ENOSPC for a full disk.
            case unwritten(Int32)
            /// The recorder ended without a final mark: it was killed, or the machine lost power.
            case interrupted
            /// The recorder ended on request.
            case ended
            /// A file ends inside a message.
            case cut(Damage)
            /// A file is damaged, or is missing between other files of a directory.
            case damaged(Damage)
            /// The host's clock was set forward, or back if the duration is negative.
            ///
            /// This is not a gap. The times before the mark are corrected by the duration.
            case clockSet(Duration)
            /// The recorded times go back by this duration for an unknown reason: the host booted with a clock that
            /// is behind, or the recorder did not notice that the clock was set.
            ///
            /// This is not a gap. The entries after the mark stay in order: their times are late by the duration.
            case clockBehind(Duration)
        }

        /// When the gap begins, or when the clock was set.
        public let time: Time
        /// The kind of statement.
        public let kind: Kind
    }
}

extension Recording.Mark.Kind {
    /// The damage; `nil` for another kind of mark.
    public var damage: Recording.Damage? {
        switch self {
        case .cut(let damage), .damaged(let damage): damage
        case .overrun, .suspended, .stalled, .unwritten, .interrupted, .ended, .clockSet, .clockBehind: nil
        }
    }

    /// Whether the network is not recorded from here to the end of the next dump.
    public var isGap: Bool {
        switch self {
        case .clockSet, .clockBehind: false
        case .overrun, .suspended, .stalled, .unwritten, .interrupted, .ended, .cut, .damaged: true
        }
    }
}

extension Recording.Mark: CustomStringConvertible {
    /// The mark in one sentence.
    public var description: String {
        switch kind {
        case .overrun: "notifications were lost"
        case .suspended(let duration): "the machine slept for \(duration.components.seconds) s"
        case .stalled(let duration): "the recorder could not run for \(Self.seconds(duration)) s"
        case .unwritten(let number):
            "the recorder could not write: \(RecordingError.Reason.unreadable(number))"
        case .interrupted: "the recorder was interrupted"
        case .ended: "the recorder ended"
        case .cut(let damage), .damaged(let damage): damage.description
        case .clockSet(let duration):
            "the clock was set \(duration < .zero ? "back" : "ahead") by \(Self.seconds(duration)) s"
        case .clockBehind(let duration):
            "the clock is \(Self.seconds(duration)) s behind: the times from here on are late by that"
        }
    }

    private static func seconds(_ duration: Duration) -> String {
        let milliseconds = Int64((duration / .milliseconds(1)).rounded()).magnitude
        return "\(milliseconds / 1_000).\((milliseconds % 1_000).padded(3))"
    }
}

// MARK: - From messages

extension Recording.Event {
    /// Creates an event from a message; `nil` for a message about a neighbour, and for a message without a change.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - before: The network before the message.
    ///   - time: When the message was received.
    ///   - requester: The owner of the message's port; `nil` if it is unknown.
    init?(
        _ message: NetlinkMessage,
        before: NetworkSnapshot,
        at time: Recording.Time,
        by requester: Requester? = nil
    ) {
        guard let change = message.change, let (subject, words) = before.describe(change) else { return nil }
        var text = words
        if message.isMove, case .interface(let name, _) = subject {
            text = "\(name) was moved to another network namespace"
        }
        self.time = time
        self.change = change
        self.subject = subject
        isClosing = message.isClosing
        origin = Origin(of: message, change, before: before, by: requester)
        description = origin == .unknown ? text : "\(text) \(origin)"
        isRemoval = change.isRemoval
    }
}

extension Recording.Event {
    /// Whether the kernel made this change as a part of another change, which is the event to report: its changes of
    /// the routes of an address or interface, and of an interface that it is about to remove or move.
    func belongs(to other: Self) -> Bool {
        switch (change, other.change) {
        case (.link(let report), .removedLink(let index)): return isClosing && report.link.index == index
        case (.route(let route, _), .address(let own)), (.removedRoute(let route), .removedAddress(let own)):
            return isOfKernel(route) && route.leaves(through: own.interfaceIndex)
                && own.canHaveRoute(to: [route.destination])
        case (.route(let route, _), .link(let report)):
            return isOfKernel(route) && route.leaves(through: report.link.index)
                && report.link.flags.contains(.up)
        default: return false
        }
    }

    /// Whether the main event can come later: the removal of an interface that the kernel sets down first, or an IPv6
    /// address, whose route the kernel adds first.
    var comesFirst: Bool {
        if case .route(let route, _) = change, route.destination.family == .v6 { return isOfKernel(route) }
        return isClosing
    }

    private func isOfKernel(_ route: Route) -> Bool {
        route.origin == Route.kernelOrigin && origin.port == nil
    }
}

extension Route {
    fileprivate func leaves(through index: UInt32) -> Bool {
        nexthops.contains { $0.interfaceIndex == index }
    }
}

extension NetworkChange {
    /// Whether an object was removed.
    var isRemoval: Bool {
        switch self {
        case .removedLink, .removedAddress, .removedRoute, .removedRule, .removedNexthop, .removedNeighbour:
            true
        case .link, .address, .route, .rule, .nexthop, .neighbour, .settings: false
        }
    }
}

extension NetworkSnapshot {
    /// The object of a change of this network, and the change in one sentence; `nil` for a change of a neighbour.
    fileprivate func describe(_ change: NetworkChange) -> (Recording.Event.Subject, String)? {
        let verb = change.isRemoval ? "removed" : "added"
        return switch change {
        case .link(let report): describe(report)
        case .removedLink(let index): (.interface(name(index), .removed), "\(name(index)) was removed")
        case .address(let address), .removedAddress(let address): describe(address, verb)
        case .route(let route, _), .removedRoute(let route): describe(route, verb)
        case .rule(let rule), .removedRule(let rule): describe(rule, verb)
        case .nexthop(let nexthop):
            (.nexthop(id: nexthop.id), "the nexthop object \(nexthop.id) was set")
        case .removedNexthop(let id): (.nexthop(id: id), "the nexthop object \(id) was removed")
        case .settings: (.settings, "settings of interfaces changed")
        case .neighbour, .removedNeighbour: nil
        }
    }

    private func describe(_ report: LinkReport) -> (Recording.Event.Subject, String) {
        let old = links[report.link.index]
        let new = report.merged(into: old)
        let changed = new.flags.symmetricDifference(old?.flags ?? [])
        let (kind, text): (Recording.Event.InterfaceChange, String) =
            if old == nil {
                (.appeared, "appeared")
            } else if changed.contains(.up) {
                new.flags.contains(.up) ? (.wentUp, "was set up") : (.wentDown, "was set down")
            } else if changed.contains(.lowerUp) {
                new.flags.contains(.lowerUp)
                    ? (.carrierGained, "has a carrier") : (.carrierLost, "lost its carrier")
            } else if let size = new.sizes.current, let earlier = old?.sizes.current, size != earlier {
                (.changed, "got an MTU of \(size) instead of \(earlier)")
            } else {
                (.changed, "changed")
            }
        return (.interface(new.name, kind), "\(new.name) \(text)")
    }

    private func describe(_ own: InterfaceAddress, _ verb: String) -> (Recording.Event.Subject, String) {
        let name = name(own.interfaceIndex)
        let text = "the address \(own.address)/\(own.prefixLength) of \(name) was \(verb)"
        return (.address(own.address, interface: name), text)
    }

    private func describe(_ route: Route, _ verb: String) -> (Recording.Event.Subject, String) {
        let first = route.nexthops.first
        let name = first.map { self.name($0.interfaceIndex) }
        var text = route.type == .unicast ? "" : "\(route.type) "
        text += route.destination.routeWords
        if route.destination.isDefault, route.destination.family == .v6 { text += " of IPv6" }
        text += Nexthop.words(via: first?.gateway, "on", name).map { " \($0)" }.joined()
        if route.table != Route.mainTable, route.table != Route.localTable {
            text += " in table \(route.table)"
        }
        let subject = Recording.Event.Subject.route(
            route.destination, gateway: first?.gateway, interface: name)
        return (subject, "the \(text) was \(verb)")
    }

    private func describe(_ rule: Rule, _ verb: String) -> (Recording.Event.Subject, String) {
        let text = "\(rule.family == .v4 ? "rule" : "IPv6 rule") \(rule.priority) (\(rule.words)"
        return (.rule(priority: rule.priority), "the \(text)) was \(verb)")
    }

    /// The name of an interface, or its number in words.
    func name(_ index: UInt32) -> String {
        links[index].map(\.name) ?? "interface \(index)"
    }
}
