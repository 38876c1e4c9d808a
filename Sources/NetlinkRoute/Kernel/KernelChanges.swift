// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
package import RoutingModel
internal import SystemSupport

/// The kernel's notifications of one network namespace.
package final class KernelChanges: ChangeFeed {
    /// The receive buffer requested by default, in bytes.
    ///
    /// The kernel counts double, and about 830 bytes for each queued route notification.
    package static let standardBuffer: UInt32 = 8 << 20

    private let socket: Locked<EventSocket>
    package let descriptor: Int32
    package let refusedGroups: Int

    /// Opens a socket in the calling thread's network namespace and joins all groups that the sandbox allows.
    ///
    /// - Parameter buffer: The receive buffer to request, in bytes.
    /// - Throws: An error when no socket can be opened. A refused group or buffer is not an error.
    package init(buffer: UInt32 = standardBuffer) throws(ReachabilityError) {
        let socket = try EventSocket()
        var refused = 0
        for group in EventGroup.monitored {
            do {
                try socket.join(group)
            } catch {
                refused += 1
            }
        }
        // A smaller buffer overruns more often, which the reader handles.
        _ = try? socket.setBuffer(bytes: buffer)
        descriptor = socket.descriptor
        refusedGroups = refused
        self.socket = Locked(socket)
    }

    package var counters: FeedCounters {
        socket.withLock { $0.counters }
    }

    package func read(_ body: (KernelNotification) -> Void) throws(ReachabilityError) -> FeedReading {
        let (reading, changes) = try socket.withLock { (socket) throws(ReachabilityError) in
            var changes: [KernelNotification] = []
            let reading = try socket.receive { message in
                if let change = message.notification ?? message.neighbourNotification {
                    changes.append(change)
                }
            }
            return (reading, changes)
        }
        changes.forEach(body)
        return reading
    }
}

extension KernelChanges {
    package func followNeighbours() -> Bool {
        socket.withLock { (try? $0.join(.neighbour)) != nil }
    }
}

extension NetlinkMessage {
    /// The neighbour that a message is about; `nil` for another message.
    fileprivate var neighbourNotification: KernelNotification? {
        guard [RTM_NEWNEIGH, RTM_DELNEIGH].contains(Int(type)) else { return nil }
        return switch change {
        case .neighbour(let neighbour): .neighbour(neighbour.key.address)
        case .removedNeighbour(let key): .neighbour(key.address)
        default: nil
        }
    }

    /// What the message affects; `nil` for a message that no route can depend on.
    package var notification: KernelNotification? {
        switch Int(type) {
        case RTM_NEWLINK, RTM_DELLINK: linkNotification
        case RTM_NEWADDR: .address(isLoss: false)
        case RTM_DELADDR: .address(isLoss: true)
        case RTM_NEWROUTE: prefix.map(KernelNotification.route)
        case RTM_DELROUTE: prefix.map(\.removal)
        case RTM_NEWRULE, RTM_DELRULE: .rule
        case RTM_NEWNETCONF, RTM_DELNETCONF: .settings
        case RTM_NEWNEXTHOP: .nexthop(isLoss: false)
        case RTM_DELNEXTHOP: .nexthop(isLoss: true)
        default: nil
        }
    }

    /// Ignores the partial messages of bridges, of IPv6 and of Wi-Fi scans: a change of the interface itself comes
    /// as a whole message.
    private var linkNotification: KernelNotification? {
        switch change {
        case .removedLink:
            return .link(isLoss: true)
        case .link(let report) where report.isWhole:
            let isUsable = report.link.flags.isSuperset(of: [.up, .running, .lowerUp])
            return .link(isLoss: !isUsable)
        default:
            return nil
        }
    }

    /// The destination of a route message.
    private var prefix: IPPrefix? {
        guard let base = bytes.baseAddress else { return nil }
        var destination = cnl_destination()
        guard cnl_parse_destination(base, bytes.count, &destination) == 0 else { return nil }
        return IPPrefix(
            family: destination.family, fixedBytes: destination.address, length: destination.length)
    }
}

extension IPPrefix {
    /// The notification of a removed route: the kernel sends it before it removes an IPv4 route, and after it
    /// removed an IPv6 route.
    fileprivate var removal: KernelNotification {
        address.family == .v4 ? .routeRemoval(self) : .route(self)
    }
}
