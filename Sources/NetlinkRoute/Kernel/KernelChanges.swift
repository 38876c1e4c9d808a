// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
package import RoutingModel
internal import SystemSupport

/// The kernel's announcements of one network namespace.
package final class KernelChanges: ChangeFeed {
    /// The receive buffer asked for, in bytes.
    ///
    /// The kernel counts the double, and about 830 bytes for each queued route announcement.
    package static let standardBuffer: UInt32 = 8 << 20

    private let socket: Locked<EventSocket>
    package let descriptor: Int32
    package let refusedGroups: Int

    /// Opens a socket in the calling thread's network namespace and joins every group that it may.
    ///
    /// - Parameter buffer: The receive buffer to ask for, in bytes.
    /// - Throws: A fault when there is no socket to be had; a refused group or buffer is none.
    package init(buffer: UInt32 = standardBuffer) throws(RoutingFault) {
        var socket = try EventSocket()
        var refused = 0
        for group in EventGroup.allCases {
            do {
                try socket.join(group)
            } catch {
                // Before Linux 5.3 there are no nexthop objects, and so nothing to announce.
                let isUnknownKind = group == .nexthop && error.number == noSuchGroup
                if !isUnknownKind { refused += 1 }
            }
        }
        // Less room means more overruns, which are handled.
        _ = try? socket.setBuffer(bytes: buffer)
        descriptor = socket.descriptor
        refusedGroups = refused
        self.socket = Locked(socket)
    }

    package var counters: FeedCounters {
        socket.withLock { $0.counters }
    }

    package func read(_ body: (KernelNotification) -> Void) throws(RoutingFault) -> FeedReading {
        let (reading, first, others) = try socket.withLock { (socket) throws(RoutingFault) in
            // A datagram holds one almost always, which then takes no memory.
            var first: KernelNotification?
            var others: [KernelNotification] = []
            let reading = try socket.receive { message in
                guard let change = message.announcement else { return }
                if first == nil { first = change } else { others.append(change) }
            }
            return (reading, first, others)
        }
        if let first { body(first) }
        for change in others { body(change) }
        return switch reading {
        case .messages: .changes
        case .empty: .empty
        case .overrun: .overrun
        }
    }
}

/// EINVAL: the kernel knows no group of that number.
private let noSuchGroup: Int32 = 22

extension EventSocket {
    /// What has happened on the socket since it was opened.
    package var counters: FeedCounters {
        let counters = readCounters
        return FeedCounters(
            messages: counters.messages,
            overruns: counters.overruns,
            spoofed: counters.spoofed,
            truncated: counters.truncated,
            malformed: counters.malformed
        )
    }
}

extension NetlinkMessage {
    /// What the message touches; `nil` when it says nothing that a route could depend on.
    package var announcement: KernelNotification? {
        switch type {
        case 16, 17: linkAnnouncement
        case 20: .address(isLoss: false)
        case 21: .address(isLoss: true)
        case 24: touchedPrefix.map(KernelNotification.route)
        case 25: touchedPrefix.map(\.removalAnnouncement)
        case 32, 33: .rule
        case 80, 81: .settings
        case 104: .nexthop(isLoss: false)
        case 105: .nexthop(isLoss: true)
        default: nil
        }
    }

    /// Bridges and IPv6 send link messages of their own families, and Wi-Fi drivers send parts of one for each
    /// scan: a real change of the interface comes as a whole message too.
    private var linkAnnouncement: KernelNotification? {
        switch content {
        case .removedLink(let message) where message.family == 0:
            return .link(isLoss: true)
        case .link(let message) where message.isWhole:
            let isUsable = message.link.flags.isSuperset(of: [.up, .running, .lowerUp])
            return .link(isLoss: !isUsable)
        default:
            return nil
        }
    }

    /// The destination of a route message.
    ///
    /// Read without the legs, which nobody wants to know here.
    private var touchedPrefix: IPPrefix? {
        guard let base = bytes.baseAddress else { return nil }
        var route = cnl_route()
        guard cnl_parse_route(base, bytes.count, &route) == 0,
            let family = IPAddress.Family(rawValue: route.family)
        else { return nil }
        let address = withUnsafeBytes(of: route.destination) { bytes in
            bytes.baseAddress.map { IPAddress(family: family, networkBytes: $0) }
        }
        guard let address else { return nil }
        return IPPrefix(address, length: Int(route.destination_length))
    }
}

extension IPPrefix {
    /// What the end of a route announces: the kernel tells it before it takes out an IPv4 route, and after it has
    /// taken out an IPv6 route.
    fileprivate var removalAnnouncement: KernelNotification {
        address.family == .v4 ? .routeRemoval(self) : .route(self)
    }
}
