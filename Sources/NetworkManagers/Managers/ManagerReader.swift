// SPDX-License-Identifier: Apache-2.0

/// What one manager said when it was asked.
struct ManagerReading {
    var state: ManagerFacts.State
    var interfaces: [UInt32: ManagedInterface] = [:]
    /// The parts that could not be parsed.
    var oddities: [String] = []

    init(_ state: ManagerFacts.State) {
        self.state = state
    }

    /// Reads a part of an answer; one that is there and not understood is an oddity.
    mutating func take<Value>(_ part: BusValue?, _ name: String, _ read: (BusValue) -> Value?) -> Value? {
        guard let part else { return nil }
        let value = read(part)
        if value == nil { oddities.append(name) }
        return value
    }

    /// Reads the parts of a list, of which those that are not understood are oddities.
    mutating func take<Value>(list: [BusValue], _ name: String, _ read: (BusValue) -> Value?) -> [Value] {
        list.compactMap { take($0, name, read) }
    }

    /// Changes the facts about an interface.
    mutating func update(_ index: UInt32, _ name: String, _ change: (inout ManagedInterface) -> Void) {
        change(&interfaces[index, default: ManagedInterface(index: index, name: name)])
    }
}

extension ManagerFacts {
    /// Combines the answers of several managers.
    ///
    /// If two managers report the same fact, the first manager's value applies.
    init(_ readings: [(ManagerName, ManagerReading)]) {
        for (name, reading) in readings {
            states[name] = reading.state
            oddities[name] = reading.oddities.isEmpty ? nil : reading.oddities
            for (index, other) in reading.interfaces {
                interfaces[index, default: ManagedInterface(index: index, name: other.name)].fill(
                    from: other)
            }
        }
    }
}

extension ManagedInterface {
    /// Sets the facts that are unknown here and known there.
    fileprivate mutating func fill(from other: Self) {
        metering.fill(from: other.metering)
        connectivity.fill(from: other.connectivity)
        captivePortal.fill(from: other.captivePortal)
        connection.fill(from: other.connection)
        nameservers.fill(from: other.nameservers)
        domains.fill(from: other.domains)
        nat64Prefixes.fill(from: other.nat64Prefixes)
    }
}

extension ManagerFact {
    fileprivate mutating func fill(from other: Self) {
        if case .unknown = self { self = other }
    }
}

extension [ManagedInterface.Domain] {
    /// Reads domains in the form of resolved.conf: route-only domains begin with `~`.
    init(texts: some Sequence<String>) {
        self = texts.map { text in
            let isRouteOnly = text.hasPrefix("~")
            return ManagedInterface.Domain(
                name: isRouteOnly ? String(text.dropFirst()) : text, isRouteOnly: isRouteOnly)
        }
    }
}

extension BusValue {
    /// The interface that an entry is about.
    func interface(name: String, index: String) -> (name: String, index: UInt32)? {
        guard let name = self[name]?.text, let index = self[index]?.number.flatMap({ UInt32(exactly: $0) })
        else {
            return nil
        }
        return (name, index)
    }
}
