// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

/// The facts of this host's managers about its interfaces at one moment.
public struct ManagerFacts: Hashable, Sendable {
    /// Whether a manager answers.
    public enum State: Hashable, Sendable {
        /// The manager has not answered yet, within its time limit.
        case pending
        /// The manager is not running, or is too old for queries; also without a system bus.
        case absent
        /// The manager did not answer within the time limit.
        case silent
        /// The manager, or the bus, refused, with its reason.
        case refused(String)
        /// The manager answers, with its version if it reports one.
        case answers(version: String?)
    }

    /// The state of each manager.
    public internal(set) var states: [ManagerName: State] = [:]
    /// The parts of each manager's answer that could not be parsed, such as `eth0: DNS`.
    ///
    /// They are missing in ``interfaces``.
    public internal(set) var oddities: [ManagerName: [String]] = [:]
    /// The interfaces of this network namespace about which a manager has facts, by index.
    public internal(set) var interfaces: [UInt32: ManagedInterface] = [:]

    /// Creates facts that are all unknown.
    public init() {}

    /// The state of a manager.
    ///
    /// - Parameter name: The manager.
    /// - Returns: Whether it answers.
    public func state(of name: ManagerName) -> State { states[name] ?? .pending }

    /// Whether a manager has not answered yet, within its time limit.
    public var isPending: Bool { ManagerName.allCases.contains { state(of: $0) == .pending } }

    /// The facts about an interface.
    ///
    /// - Parameter interface: The interface, of a path or a report.
    /// - Returns: The facts; all unknown if no manager has facts about the interface.
    public subscript(interface: NetworkInterface) -> ManagedInterface {
        // An interface that was renamed meanwhile must not be taken for another one that had its index.
        if let known = interfaces[interface.index], known.name == interface.name { return known }
        return ManagedInterface(index: interface.index, name: interface.name)
    }

    /// The cost of an interface: expensive if NetworkManager reports or guesses that it is metered.
    ///
    /// Never constrained: no manager has a setting like Low Data Mode.
    ///
    /// - Parameter interface: The interface.
    /// - Returns: The cost; free if nothing is known.
    public func cost(of interface: NetworkInterface) -> NetworkMetering.Cost {
        self[interface].metering.value?.isMetered == true ? .expensive : .free
    }
}

extension ManagerFacts.State: CustomStringConvertible {
    /// The state in words, such as `answers, version 1.42.4`.
    public var description: String {
        switch self {
        case .pending: "no answer yet"
        case .absent: "not running, or too old"
        case .silent: "running, and does not answer"
        case .refused(let reason): "refused: \(reason)"
        case .answers(let version): version.map { "answers, version \($0)" } ?? "answers"
        }
    }
}
