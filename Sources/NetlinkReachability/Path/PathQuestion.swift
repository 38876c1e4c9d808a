// SPDX-License-Identifier: Apache-2.0

/// The question for the default path through interfaces of some types.
struct PathQuestion: MonitorQuestion, Hashable {
    /// The only type of interface that the path can take; `nil` for any.
    var required: NetworkInterface.InterfaceType?
    /// The types that the path must not take.
    var prohibited: Set<NetworkInterface.InterfaceType> = []

    /// The path through interfaces of any type.
    static let unrestricted = PathQuestion()

    var namedTarget: MonitoredTarget? { nil }
    var readsNameservers: Bool { true }

    /// Whether the path can take an interface.
    func admits(_ interface: NetworkInterface) -> Bool {
        guard required ?? interface.type == interface.type else { return false }
        return !prohibited.contains(interface.type)
    }

    func answer(from facts: NetworkFacts) throws(ReachabilityError) -> NetworkPath {
        try PathFinder(source: facts, question: self).find().path
    }
}
