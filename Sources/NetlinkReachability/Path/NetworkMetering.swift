// SPDX-License-Identifier: Apache-2.0

/// Tells what the traffic of an interface costs, which the kernel does not know.
///
/// ```swift
/// // A phone that is used as a hotspot, known by the name of its USB interface.
/// let metering = NetworkMetering { $0.name.hasPrefix("usb") ? .expensive : .free }
/// let monitor = NetworkPathMonitor(metering: metering)
/// ```
///
/// Programs such as NetworkManager keep such settings (its `Metered` property); when they change, call
/// ``NetworkPathMonitor/meteringDidChange()``.
public struct NetworkMetering: Sendable {
    /// What traffic costs.
    public struct Cost: OptionSet, Hashable, Sendable {
        /// The set as a number.
        public let rawValue: UInt8

        /// Wraps a number.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// It costs money, or comes out of somebody's allowance: Apple's `isExpensive`.
        public static let expensive = Cost(rawValue: 1)
        /// The user wants it spared: Apple's `isConstrained`, Low Data Mode.
        public static let constrained = Cost(rawValue: 2)
        /// Nothing.
        public static let free: Cost = []
    }

    private let cost: @Sendable (NetworkInterface) -> Cost

    /// Judges interfaces by a closure.
    ///
    /// - Parameter cost: Called on the queue of whoever is told of a path, or by whoever asks for one; never on
    ///   the monitor's own thread. A cellular interface is expensive whatever it returns.
    public init(_ cost: @escaping @Sendable (NetworkInterface) -> Cost) {
        self.cost = cost
    }

    /// Knows nothing: only cellular interfaces are expensive, and none is constrained.
    public static let unmetered = NetworkMetering { _ in .free }

    /// The path with what its interfaces cost.
    func applied(to path: NetworkPath) -> NetworkPath {
        let cost = path.usedInterfaces.reduce(into: Cost.free) { $0.formUnion(self.cost($1)) }
        guard !cost.isEmpty else { return path }
        var path = path
        if cost.contains(.expensive) { path.isExpensive = true }
        if cost.contains(.constrained) { path.isConstrained = true }
        return path
    }
}
