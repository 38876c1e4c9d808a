// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

#if NetworkManagers
    import NetworkManagers

    /// The facts of the network managers, for the commands that print them.
    struct HostManagers {
        private let monitor: ManagerMonitor?

        /// Queries the managers.
        ///
        /// - Parameter limit: How long to wait for their first answers: as long as the bus and the other managers
        ///   can hang before NetworkManager is queried.
        init(waitingAtMost limit: Duration = .seconds(6)) {
            monitor = try? ManagerMonitor()
            monitor?.waitForAnswers(atMost: limit)
        }

        /// The facts of the managers; all unknown if they cannot be queried.
        private var facts: ManagerFacts { monitor?.facts ?? ManagerFacts() }

        /// The costs according to the managers.
        var metering: NetworkMetering { monitor?.metering ?? .unmetered }

        /// The facts about the interfaces that packets use, each with its source.
        ///
        /// Unknown facts are omitted.
        ///
        /// - Returns: Labels and values.
        func lines(about path: NetworkPath) -> [(label: String, value: String)] {
            let facts = facts
            return path.usedInterfaces.flatMap { used in
                let interface = facts[used]
                return [
                    line("metered", interface.metering, used) { $0.rawValue },
                    line("connectivity", interface.connectivity, used) { $0.rawValue },
                    line("portal", interface.captivePortal, used) { $0 },
                    line("connection", interface.connection, used) { connection in
                        [connection.name, connection.uuid].compactMap(\.self).joined(separator: ", ")
                    },
                    line("domains", interface.domains, used) { domains in
                        domains.map(\.text).joined(separator: ", ")
                    },
                    line("NAT64", interface.nat64Prefixes, used) { prefixes in
                        prefixes.map(\.description).joined(separator: ", ")
                    },
                ].compactMap(\.self)
            }
        }

        private func line<Value>(
            _ label: String, _ fact: ManagerFact<Value>, _ interface: NetworkInterface,
            _ text: (Value) -> String
        ) -> (label: String, value: String)? {
            guard case .known(let value, let source) = fact, case let words = text(value), !words.isEmpty
            else {
                return nil
            }
            return (label, "\(words) (\(interface.name), \(source))")
        }

        /// Writes the member `managers`: the facts about the interfaces that the packets of a path use.
        func writeMember(about path: NetworkPath?, to json: inout ByteBuffer) {
            let facts = facts
            json.member("managers", objects: path?.usedInterfaces ?? []) { used, json in
                let interface = facts[used]
                json.member("interface", used.name)
                json.fact("metered", interface.metering, \.rawValue)
                json.fact("connectivity", interface.connectivity, \.rawValue)
                json.fact("captivePortal", interface.captivePortal) { $0 }
                json.fact("connection", interface.connection, \.name)
                json.fact("nameservers", interface.nameservers) { $0 }
                json.fact("domains", interface.domains) { $0.map(\.text) }
                json.fact("nat64Prefixes", interface.nat64Prefixes) { $0.map(\.description) }
            }
        }

        /// The state of each manager, for `doctor`.
        var states: [(label: String, value: String, answers: Bool)] {
            let facts = facts
            return ManagerName.allCases.map { name in
                let state = facts.state(of: name)
                let answers = if case .answers = state { true } else { false }
                let oddities = (facts.oddities[name] ?? []).counted
                return (name.rawValue, state.description + oddities, answers)
            }
        }
    }

    extension [String] {
        /// The parts of a manager's answer that could not be parsed: the first ones, and the number of the others.
        fileprivate var counted: String {
            let names = Set(self).sorted()
            guard !names.isEmpty else { return "" }
            let more = names.count > 5 ? " and \(names.count - 5) more" : ""
            return ", but not understood: \(names.prefix(5).joined(separator: ", "))\(more)"
        }
    }

    extension ManagedInterface.Domain {
        /// The domain, with `~` before a route-only domain.
        fileprivate var text: String { (isRouteOnly ? "~" : "") + name }
    }

    extension ByteBuffer {
        /// Writes an object with the value and its source, or null.
        fileprivate mutating func fact<Value>(
            _ name: String, _ fact: ManagerFact<Value>, _ json: (Value) -> some JSONConvertible
        ) {
            guard case .known(let value, let source) = fact else { return member(name, String?.none) }
            member(name, object: (json(value), source.rawValue)) { pair, json in
                json.member("value", pair.0)
                json.member("source", pair.1)
            }
        }
    }
#else
    /// The network managers in a build that does not query them, because it lacks the trait NetworkManagers.
    struct HostManagers {
        init(waitingAtMost limit: Duration = .seconds(6)) {}

        /// No costs.
        var metering: NetworkMetering { .unmetered }

        /// Returns no lines, because nothing is known.
        func lines(about path: NetworkPath) -> [(label: String, value: String)] { [] }

        /// Writes nothing: the member is present only in a build that queries managers.
        func writeMember(about path: NetworkPath?, to json: inout ByteBuffer) {}

        /// Empty, because no manager is queried.
        var states: [(label: String, value: String, answers: Bool)] { [] }
    }
#endif
