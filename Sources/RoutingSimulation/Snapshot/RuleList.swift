// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// The rules of one family, in the kernel's order: by priority, then in order of insertion.
struct RuleList: Sendable {
    private var byPriority: [UInt32: [Rule]] = [:]
    /// The priorities, ascending.
    private var priorities: [UInt32] = []
    private var members: Set<Rule> = []

    /// How many there are.
    var count: Int { members.count }
    /// Whether there is none.
    var isEmpty: Bool { members.isEmpty }
    /// All of them.
    var all: [Rule] { priorities.flatMap { byPriority[$0] ?? [] } }

    /// Whether there is a rule of a priority.
    func contains(priority: UInt32) -> Bool {
        byPriority[priority] != nil
    }

    /// Inserts a rule behind those of its priority, unless it is present.
    mutating func insert(_ rule: Rule) {
        guard members.insert(rule).inserted else { return }
        if !contains(priority: rule.priority) {
            priorities.insert(rule.priority, at: index(of: rule.priority))
        }
        byPriority[rule.priority, default: []].append(rule)
    }

    /// Removes a rule.
    mutating func remove(_ rule: Rule) {
        guard members.remove(rule) != nil else { return }
        byPriority[rule.priority]?.removeAll { $0 == rule }
        guard byPriority[rule.priority]?.isEmpty ?? false else { return }
        byPriority[rule.priority] = nil
        priorities.remove(at: index(of: rule.priority))
    }

    /// How many priorities are lower than one.
    private func index(of priority: UInt32) -> Int {
        priorities.partitioningIndex { $0 >= priority }
    }
}

/// A value for IPv4 and one for IPv6.
struct PerFamily<Value: Sendable>: Sendable {
    private var v4: Value
    private var v6: Value

    /// Gives both families the same value.
    init(_ value: Value) {
        (v4, v6) = (value, value)
    }

    /// The value of a family.
    subscript(_ family: IPAddress.Family) -> Value {
        _read { if family == .v4 { yield v4 } else { yield v6 } }
        _modify { if family == .v4 { yield &v4 } else { yield &v6 } }
    }
}
