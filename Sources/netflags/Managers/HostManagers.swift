// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

#if NetworkManagers
    import NetworkManagers

    /// What the managers of the network say, for the commands that print it.
    struct HostManagers {
        private let monitor: ManagerMonitor?

        /// Asks them.
        ///
        /// - Parameter limit: How long to wait at most for their first answers: as long as the bus and the others can
        ///   hang before NetworkManager is asked.
        init(waitingAtMost limit: Duration = .seconds(6)) {
            monitor = try? ManagerMonitor()
            monitor?.waitForAnswers(atMost: limit)
        }

        /// What they say; nothing where they cannot be asked.
        private var facts: ManagerFacts { monitor?.facts ?? ManagerFacts() }

        /// The costs that they say.
        var metering: NetworkMetering { monitor?.metering ?? .unmetered }

        /// What they say about the interfaces that packets take, each with its source; what is unknown is left out.
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

        /// Writes the member `managers`: what they say about the interfaces of a path that packets take.
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
        /// What a manager said that is not understood, the first of it with a number.
        fileprivate var counted: String {
            let names = Set(self).sorted()
            guard !names.isEmpty else { return "" }
            let more = names.count > 5 ? " and \(names.count - 5) more" : ""
            return ", but not understood: \(names.prefix(5).joined(separator: ", "))\(more)"
        }
    }

    extension ManagedInterface.Domain {
        /// The domain, with `~` before one that only routes.
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
    /// The managers of the network, which this build does not ask: it lacks the trait NetworkManagers.
    struct HostManagers {
        init(waitingAtMost limit: Duration = .seconds(6)) {}

        /// No costs.
        var metering: NetworkMetering { .unmetered }

        /// Nothing is known.
        func lines(about path: NetworkPath) -> [(label: String, value: String)] { [] }

        /// Writes nothing: the member is there only in a build that asks.
        func writeMember(about path: NetworkPath?, to json: inout ByteBuffer) {}

        /// None is asked.
        var states: [(label: String, value: String, answers: Bool)] { [] }
    }
#endif
