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

/// What a manager says, with its name, or that no manager says anything.
public enum ManagerFact<Value: Hashable & Sendable>: Hashable, Sendable {
    /// No manager says anything about it.
    case unknown
    /// A value, and the manager that says it.
    case known(Value, ManagerName)

    /// The value; `nil` if it is unknown.
    public var value: Value? {
        if case .known(let value, _) = self { value } else { nil }
    }

    /// The manager that says it; `nil` if it is unknown.
    public var source: ManagerName? {
        if case .known(_, let source) = self { source } else { nil }
    }

    /// A value of a manager, or nothing.
    init(_ value: Value?, _ source: ManagerName) {
        self = value.map { .known($0, source) } ?? .unknown
    }
}
