// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

/// What the managers of this host say about its interfaces at one moment.
public struct ManagerFacts: Hashable, Sendable {
    /// Whether a manager answers.
    public enum State: Hashable, Sendable {
        /// It has not answered yet, within its time limit.
        case pending
        /// It is not running, or it is too old to be asked; also where there is no system bus.
        case absent
        /// It did not answer within the time limit.
        case silent
        /// It, or the bus, refused; with the reason in their words.
        case refused(String)
        /// It answers; with its version, where it says it.
        case answers(version: String?)
    }

    /// The state of each manager.
    public internal(set) var states: [ManagerName: State] = [:]
    /// What each manager said that is not understood, such as `eth0: DNS`, and so is left out of the interfaces.
    public internal(set) var oddities: [ManagerName: [String]] = [:]
    /// The interfaces of this network namespace about which a manager says something, by their index.
    public internal(set) var interfaces: [UInt32: ManagedInterface] = [:]

    /// Creates facts of which nothing is known.
    public init() {}

    /// The state of a manager.
    ///
    /// - Parameter name: The manager.
    /// - Returns: Whether it answers.
    public func state(of name: ManagerName) -> State { states[name] ?? .pending }

    /// Whether a manager has not answered yet, within its time limit.
    public var isPending: Bool { ManagerName.allCases.contains { state(of: $0) == .pending } }

    /// What the managers say about an interface.
    ///
    /// - Parameter interface: The interface, of a path or a report.
    /// - Returns: The facts, all of them unknown if no manager says anything about it.
    public subscript(interface: NetworkInterface) -> ManagedInterface {
        // An interface that was renamed since is not mistaken for the one that had its index.
        if let known = interfaces[interface.index], known.name == interface.name { return known }
        return ManagedInterface(index: interface.index, name: interface.name)
    }

    /// The cost of an interface: expensive if NetworkManager says or guesses that it is metered.
    ///
    /// Never constrained: no manager has a setting like Low Data Mode.
    ///
    /// - Parameter interface: The interface.
    /// - Returns: The cost; free where nothing is known.
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
