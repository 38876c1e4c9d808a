// SPDX-License-Identifier: Apache-2.0

/// A program that manages the network of this host.
public enum ManagerName: String, Hashable, Sendable, CaseIterable {
    /// NetworkManager, over D-Bus.
    case networkManager = "NetworkManager"
    /// systemd-networkd, over varlink, or over D-Bus before systemd 257.
    case networkd = "systemd-networkd"
    /// systemd-resolved, over varlink, or over D-Bus before systemd 259.
    case resolved = "systemd-resolved"
}

extension ManagerName: CustomStringConvertible {
    /// The program's name.
    public var description: String { rawValue }
}

/// A fact with the manager that reports it, or no fact.
public enum ManagerFact<Value: Hashable & Sendable>: Hashable, Sendable {
    /// No manager reports the fact.
    case unknown
    /// A value, and the manager that reports it.
    case known(Value, ManagerName)

    /// The value; `nil` if it is unknown.
    public var value: Value? {
        if case .known(let value, _) = self { value } else { nil }
    }

    /// The manager that reports the value; `nil` if it is unknown.
    public var source: ManagerName? {
        if case .known(_, let source) = self { source } else { nil }
    }

    /// Creates a fact from a value of a manager, or an unknown fact from `nil`.
    init(_ value: Value?, _ source: ManagerName) {
        self = value.map { .known($0, source) } ?? .unknown
    }
}
