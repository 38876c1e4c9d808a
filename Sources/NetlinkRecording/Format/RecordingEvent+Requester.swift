// SPDX-License-Identifier: Apache-2.0

package import SystemSupport

extension Recording.Event {
    /// Which processes a netlink port stood for, as far as the recorder could see when it met the port.
    ///
    /// The recorder looks when a change with a port arrives, which is after the change, and again after a second at the
    /// earliest. A program that ends at once can be gone by then, and its number be that of another one. What is seen
    /// depends on the recorder's privileges, and ``certainty`` says how.
    public struct Requester: Hashable, Sendable, Codable {
        /// How far the processes are known to have asked for the change.
        public enum Certainty: String, Hashable, Sendable, Codable {
            /// Of all processes of the host, this one had the socket with the port open.
            case holder
            /// Of all processes of the host, these had the socket with the port open.
            case holders
            /// Without the privilege to see the sockets of all processes: these have the number of the port in their
            /// own PID namespace, and the recorder's network namespace. Another process can have asked.
            case candidates
            /// The socket was closed, and no process of the network namespace had the number of the port.
            case gone
        }

        /// A process of the host.
        public struct Process: Hashable, Sendable, Codable {
            /// Its number in the recorder's PID namespace.
            public let identifier: Int32
            /// The name of its main thread (`/proc/PID/comm`), such as `dhclient`.
            public let name: String
            /// The unit of systemd that it belonged to, such as `dhclient.service`; `nil` for none.
            public let unit: String?

            /// Describes a process.
            public init(identifier: Int32, name: String, unit: String?) {
                (self.identifier, self.name, self.unit) = (identifier, name, unit)
            }
        }

        /// How far the processes are known to have asked.
        public let certainty: Certainty
        /// The processes, in the order of their numbers, at most 8.
        ///
        /// Of ``Certainty/holders``, one that bound the socket for a service comes last: the manager of services, which
        /// has the number 1.
        public let processes: [Process]

        /// Describes the owner of a port.
        public init(certainty: Certainty, processes: [Process]) {
            (self.certainty, self.processes) = (certainty, processes)
        }

        /// The most processes that are named.
        package static let limit = 8
        /// The most ports that a recorder states between two dumps, and that a reader keeps.
        static let portLimit = 1_024
    }
}

extension Recording.Event.Requester.Process {
    package init(_ process: RunningProcess) {
        self.init(identifier: process.identifier, name: process.name, unit: process.unit)
    }
}

extension Recording.Event.Requester.Process: CustomStringConvertible {
    /// The name with the unit, such as `dhclient (dhclient.service)`.
    public var description: String {
        (name.isEmpty ? "process \(identifier)" : name) + (unit.map { " (\($0))" } ?? "")
    }
}

extension Recording.Event.Requester: CustomStringConvertible {
    /// What follows a port, such as `then dhclient (dhclient.service)`.
    public var description: String {
        let names = processes.map(\.description)
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

    /// Whether the manager of services opened the socket for one process.
    private var isPassedOn: Bool { processes.count == 2 && processes[1].identifier == 1 }
}
