// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel
package import SystemSupport

extension Recording.Event {
    /// Who requested a change, as far as the notification shows it.
    public enum Origin: Hashable, Sendable {
        /// A program requested it over netlink, through the socket with this port. The requester is `nil` if the
        /// recorder did not see the program.
        case request(port: NetlinkPort, by: Requester?)
        /// No program requested it: the lifetime of the address or the route ended.
        case lifetimeEnd
        /// No program requested this removal over netlink, and the interface with this name is down or removed. The
        /// kernel then removes the interface's addresses and routes.
        case interfaceDown(String)
        /// No program requested this removal over netlink, and the interface with this name has an MTU below 1280,
        /// the minimum of IPv6. The kernel then removes the interface's IPv6 addresses and routes.
        case smallMTU(String)
        /// No program requested it: the router that announced the IPv6 route withdrew the route, or its lifetime
        /// ended.
        ///
        /// The notification is the same in both cases.
        case advertisementEnd
        /// Unknown: the notification has no port.
        ///
        /// The kernel made the change by itself, or a program requested it in another way, such as ioctl(2). Changes
        /// of interfaces and IPv6 addresses never have a port, even if a program requests them over netlink.
        case unknown
    }

    /// The port of a netlink socket: the receiver of a kernel message, or the socket whose request caused it.
    ///
    /// By default, the kernel gives the first netlink socket of a process the process identifier as its port. The
    /// identifier belongs to the process's own PID namespace, so a process in a container can have the number of
    /// another process of the host. A socket can also be passed on: the socket of systemd-networkd has the port of
    /// the process that bound it for the service. So a port is a hint, not proof, of the requester.
    ///
    /// The kernel's counterpart is `nlmsg_pid`.
    public struct NetlinkPort: Hashable, Sendable, Codable, CustomStringConvertible {
        /// The number.
        public let number: UInt32

        /// Creates a port from its number.
        public init(_ number: UInt32) {
            self.number = number
        }

        /// The process that the number identifies, in the process's own PID namespace.
        ///
        /// `nil` for a number above 2147483647, which identifies no process: the kernel chooses such a number if the
        /// process's number is already in use as a port.
        ///
        /// libnl stores the process identifier in the lower 22 bits.
        public var processIdentifier: Int32? {
            guard number > 0, number <= Int32.max else { return nil }
            let process = number & Self.processMask
            return process == 0 ? nil : Int32(process)
        }

        /// The port in words, such as `port 1262`.
        public var description: String {
            guard let processIdentifier else { return "port \(number), of no process's number" }
            return number == processIdentifier
                ? "port \(number)" : "port \(number), of process \(processIdentifier)"
        }

        /// The bits of a process identifier: Linux has at most 2^22 processes.
        private static let processMask: UInt32 = 1 << 22 - 1
    }
}

extension Recording.Event.Origin {
    /// The port of the request; `nil` for other origins.
    public var port: Recording.Event.NetlinkPort? {
        if case .request(let port, _) = self { port } else { nil }
    }

    /// The owner of the port; `nil` for other origins, or if the recorder did not see the owner.
    public var requester: Recording.Event.Requester? {
        if case .request(_, let requester) = self { requester } else { nil }
    }

    /// The word for programs; `nil` if the origin is unknown.
    package var word: String? {
        switch self {
        case .request: "request"
        case .lifetimeEnd: "lifetimeEnd"
        case .interfaceDown: "interfaceDown"
        case .smallMTU: "smallMTU"
        case .advertisementEnd: "advertisementEnd"
        case .unknown: nil
        }
    }
}

extension Recording.Event.Origin: CustomStringConvertible {
    /// The text after the sentence of an event, such as `on request (port 1262)`; empty if the origin is unknown.
    public var description: String {
        switch self {
        case .request(let port, let requester):
            "on request (\(port)\(requester.map { ", \($0)" } ?? ""))"
        case .lifetimeEnd: "as its lifetime ended"
        case .interfaceDown(let name): "while \(name) is down"
        case .smallMTU(let name): "as the MTU of \(name) is too small for IPv6"
        case .advertisementEnd: "as its router withdrew it or its lifetime ended"
        case .unknown: ""
        }
    }
}

extension Recording.Event.Origin {
    /// Finds the origin of a change.
    ///
    /// - Parameters:
    ///   - message: The notification.
    ///   - change: The change in the notification.
    ///   - before: The network before the change.
    ///   - requester: The owner of the message's port.
    init(
        of message: NetlinkMessage,
        _ change: NetworkChange,
        before: NetworkSnapshot,
        by requester: Recording.Event.Requester?
    ) {
        guard message.port == 0 else {
            self = .request(port: Recording.Event.NetlinkPort(message.port), by: requester)
            return
        }
        switch change {
        case .removedAddress(let address):
            self =
                address.isExpired
                ? .lifetimeEnd : Self(removalFrom: address.interfaceIndex, address.address.family, before)
        case .removedRoute(let route):
            let family = route.destination.family
            self =
                before.hasExpired(route)
                ? .lifetimeEnd : Self(removalFrom: route.nexthops.first?.interfaceIndex, family, before)
            if self == .unknown, family == .v6, route.origin == Route.advertisedOrigin {
                self = .advertisementEnd
            }
        default: self = .unknown
        }
    }

    /// The origin of a removal without a port from an interface; `nil` or 0 for no interface.
    private init(
        removalFrom interface: UInt32?,
        _ family: IPAddress.Family,
        _ before: NetworkSnapshot
    ) {
        guard let interface, interface != 0 else {
            self = .unknown
            return
        }
        let link = before.links[interface]
        if link?.flags.contains(.up) != true {
            self = .interfaceDown(before.name(interface))
        } else if family == .v6, let size = link?.sizes.current, size < Self.smallestIPv6MTU {
            self = .smallMTU(before.name(interface))
        } else {
            self = .unknown
        }
    }

    /// IPV6_MIN_MTU.
    private static let smallestIPv6MTU: UInt32 = 1_280
}

extension NetworkSnapshot {
    /// Whether the lifetime of a route of this network is over.
    ///
    /// The notification of its removal contains no lifetime. If router advertisements can prolong the route without a
    /// notification, its end is unknown.
    fileprivate func hasExpired(_ route: Route) -> Bool {
        guard let known = self.route(like: route), !known.mayBeProlonged else { return false }
        return known.expires.map { $0 < 0 } ?? false
    }
}

// MARK: - Requesters

extension Recording.Event {
    /// The processes that a netlink port belonged to, as far as the recorder could see when it first saw the port.
    ///
    /// The recorder looks when a change with a port arrives, which is after the change, and looks again after one
    /// second at the earliest. A short-lived program can have ended by then, and its number can belong to another
    /// process. The result depends on the recorder's privileges, which ``certainty`` describes.
    public struct Requester: Hashable, Sendable, Codable {
        /// How certain it is that the processes requested the change.
        public enum Certainty: String, Hashable, Sendable, Codable {
            /// Of all processes of the host, only this one had the socket with the port open.
            case holder
            /// Of all processes of the host, only these had the socket with the port open.
            case holders
            /// Not all processes' sockets could be examined, because a privilege or time was missing. These processes
            /// had the socket, or have the number of the port in their own PID namespace and are in the recorder's
            /// network namespace. Another process can be the requester.
            case candidates
            /// The socket was closed, and no process of the network namespace had the number of the port.
            case gone
        }

        /// A process of the host.
        public struct Process: Hashable, Sendable, Codable {
            /// The number of the process in the recorder's PID namespace.
            public let identifier: Int32
            /// The name of its main thread (`/proc/PID/comm`), such as `dhclient`; it can be empty.
            public let name: String
            /// The systemd unit of the process, such as `dhclient.service`; `nil` for none.
            ///
            /// A unit of a user's manager or of a container follows the unit of the host's manager, as in
            /// `user@1000.service, sshd.service in it`.
            public let unit: String?

            /// Creates the description of a process.
            public init(identifier: Int32, name: String, unit: String?) {
                (self.identifier, self.name, self.unit) = (identifier, name, unit)
            }
        }

        /// How certain it is that the processes requested the change.
        public let certainty: Certainty
        /// The processes, at most 8.
        ///
        /// For ``Certainty/candidates``, processes that had the socket come first, followed by the process of the
        /// recorder's own PID namespace whose number is the port. The service manager, which binds sockets for
        /// services and has the number 1, comes last.
        public let processes: [Process]
        /// Whether there can be more candidates than ``processes`` contains.
        public let isCut: Bool

        /// Creates the description of a port's owner.
        public init(certainty: Certainty, processes: [Process], isCut: Bool = false) {
            (self.certainty, self.processes, self.isCut) = (certainty, processes, isCut)
        }

        /// The most processes in ``processes``.
        package static let limit = 8
        /// The most ports that a recorder states between two dumps, and that a reader stores.
        static let portLimit = 1_024
    }
}

extension Recording.Event.Requester.Process {
    package init(_ process: RunningProcess) {
        self.init(identifier: process.identifier, name: process.name, unit: process.unit)
    }
}

extension Recording.Event.Requester.Process: CustomStringConvertible {
    /// The name with the number and the unit, such as `dhclient/812 (dhclient.service)`.
    public var description: String { RunningProcess(identifier: identifier, name: name, unit: unit).words }
}

extension Recording.Event.Requester: CustomStringConvertible {
    /// The text after a port, such as `then dhclient/812 (dhclient.service)`.
    public var description: String {
        let names = processes.map(\.description) + (isCut ? ["another process"] : [])
        return switch certainty {
        case .holder: "then \(names.joined())"
        case .holders where isPassedOn: "then \(names[0]), whose socket \(names[1]) opened"
        case .holders: "then one of \(names.joined(separator: ", "))"
        case .candidates where processes.contains { $0.identifier == 1 }:
            "then perhaps \(names.joined(separator: " or ")), or a service whose socket it opened"
        case .candidates: "then perhaps \(names.joined(separator: " or "))"
        case .gone: "whose socket was closed"
        }
    }

    /// Whether the service manager opened the socket for one process.
    private var isPassedOn: Bool { processes.count == 2 && processes[1].identifier == 1 }
}
