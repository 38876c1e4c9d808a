// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
package import RoutingModel

/// Who requested the newest change of each address, route, rule and nexthop object, as far as a recording shows it.
///
/// A gap clears it, because an object can have changed unseen.
package struct RecordedOrigins: Sendable {
    /// What a change is about, with the interface indexes of its time.
    private enum Subject: Hashable, Sendable {
        case address(AddressBook.Key)
        /// A route without its state and lifetime.
        case route(Route)
        case rule(Rule)
        case nexthop(UInt32)
    }

    /// The newest changes whose origin is known.
    private var newest: [Subject: Recording.Event] = [:]

    init() {}

    /// Who requested the change that led to the present state of an object.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - start: The time since when it has changed.
    /// - Returns: The origin; `nil` if the change is not recorded, or its origin is unknown.
    package func origin(
        of change: NetworkChange, after start: Recording.Time
    ) -> Recording.Event.Origin? {
        // A route that goes with its interface has no notification: the newest one is that of its addition.
        guard let found = Self.subject(change).flatMap({ newest[$0] }), found.time > start,
            found.isRemoval == change.isRemoval
        else { return nil }
        return found.origin
    }

    /// Forgets all origins, at a gap.
    mutating func forget() {
        newest = [:]
    }

    /// Records the origin of the next entry.
    ///
    /// Called before the replay applies the entry.
    mutating func record(_ entry: RecordingEntry, before replay: inout RecordingReplay) {
        guard replay.notification(entry) != nil, case .message(let message) = entry.content,
            let time = entry.time, let subject = message.change.flatMap(Self.subject)
        else { return }
        let event = replay.event(message, at: time)
        newest[subject] = event?.origin == .unknown ? nil : event
    }

    private static func subject(_ change: NetworkChange) -> Subject? {
        switch change {
        case .address(let address), .removedAddress(let address): .address(AddressBook.Key(address))
        case .route(let route, _), .removedRoute(let route): .route(route.identity)
        case .rule(let rule), .removedRule(let rule): .rule(rule)
        case .nexthop(let nexthop): .nexthop(nexthop.id)
        case .removedNexthop(let id): .nexthop(id)
        case .link, .removedLink, .neighbour, .removedNeighbour, .settings: nil
        }
    }
}
