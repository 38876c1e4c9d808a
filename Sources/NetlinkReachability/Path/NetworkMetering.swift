// SPDX-License-Identifier: Apache-2.0

/// The cost of an interface's traffic, which the kernel does not know.
///
/// ```swift
/// // A phone that is used as a hotspot, recognised by the name of its USB interface.
/// let metering = NetworkMetering { $0.name.hasPrefix("usb") ? .expensive : .free }
/// let path = try NetworkSource.kernel.path(metering: metering)
/// ```
///
/// Programs such as NetworkManager store such settings (its `Metered` property). When they change, call
/// ``NetworkSource/evaluateAgain()``.
public struct NetworkMetering: Sendable {
    /// A set of costs.
    public struct Cost: OptionSet, Hashable, Sendable {
        /// The set's bits.
        public let rawValue: UInt8

        /// Creates a set from its bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Traffic costs money or uses up an allowance: Apple's `isExpensive`.
        public static let expensive = Cost(rawValue: 1)
        /// The user wants less traffic: Apple's `isConstrained`, Low Data Mode.
        public static let constrained = Cost(rawValue: 2)
        /// No cost.
        public static let free: Cost = []
    }

    private let cost: @Sendable (NetworkInterface) -> Cost

    /// Creates a metering from a closure.
    ///
    /// - Parameter cost: Returns the cost of an interface. It is called with each evaluation of a path, by the
    ///   caller of a query or on the monitor's thread: it must not wait. A cellular interface is always expensive.
    public init(_ cost: @escaping @Sendable (NetworkInterface) -> Cost) {
        self.cost = cost
    }

    /// No costs are known: only cellular interfaces are expensive, and none is constrained.
    public static let unmetered = NetworkMetering { _ in .free }

    /// What interfaces cost together.
    func cost(of interfaces: [NetworkInterface]) -> Cost {
        interfaces.reduce(into: .free) { cost, interface in
            cost.formUnion(self.cost(interface))
            if interface.type == .cellular { cost.insert(.expensive) }
        }
    }
}
