// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

/// A whole network by name, in the spirit of a link conditioner, which may change by itself as time goes by.
///
/// ```swift
/// let network = SimulatedNetwork(.wifi)
/// network.apply(.offline)
///
/// let roaming = try NetworkCondition("roaming") { host in
///     try host.addInterface("wlan0", .wifi)
///     try host.addAddress("192.0.2.3/24", to: "wlan0")
///     try host.addRoute("default", via: "192.0.2.1")
/// }
/// .then(after: .seconds(10)) { try $0.setCarrier("wlan0", false) }
/// .then(after: .milliseconds(800)) { try $0.setCarrier("wlan0", true) }
/// .repeating()
/// ```
public struct NetworkCondition: Sendable, CustomStringConvertible {
    typealias Change = @Sendable (inout SimulatedHost) throws -> Void

    /// Something that happens by itself.
    struct Step: Sendable {
        let delay: Duration
        let change: Change
    }

    /// What it is called.
    public let name: String
    let setUp: Change
    private var steps: [Step] = []
    private var isRepeating = false
    /// A host to which all that is said so far has been done.
    private var trial = SimulatedHost()

    /// Describes a condition, and tries it out.
    ///
    /// - Parameters:
    ///   - name: What to call it, for messages.
    ///   - setUp: Builds the network on a host with nothing but its loopback interface.
    /// - Throws: What `setUp` throws.
    public init(
        _ name: String,
        _ setUp: @escaping @Sendable (inout SimulatedHost) throws -> Void
    ) throws {
        self.name = name
        self.setUp = setUp
        try setUp(&trial)
    }

    /// The same, and then something that happens by itself.
    ///
    /// ```swift
    /// let short = try NetworkCondition("short") { try $0.addInterface("eth0") }
    ///     .then(after: .seconds(1)) { try $0.removeInterface("eth0") }
    /// ```
    ///
    /// - Parameters:
    ///   - delay: How long after the step before, or after the condition was applied; more than zero.
    ///   - change: What happens.
    /// - Returns: The longer condition.
    /// - Throws: What `change` throws when it is tried out.
    public func then(
        after delay: Duration,
        _ change: @escaping @Sendable (inout SimulatedHost) throws -> Void
    ) throws -> NetworkCondition {
        guard delay > .zero else {
            throw SimulationError(
                .failedStep,
                "a step of \(name) comes after \(delay): give it more than zero"
            )
        }
        var longer = self
        try change(&longer.trial)
        longer.steps.append(Step(delay: delay, change: change))
        return longer
    }

    /// The same, with its steps over and over.
    ///
    /// ```swift
    /// let endless = try NetworkCondition("blinking") { try $0.addInterface("eth0") }
    ///     .then(after: .seconds(1)) { try $0.setCarrier("eth0", false) }
    ///     .then(after: .seconds(1)) { try $0.setCarrier("eth0", true) }
    ///     .repeating()
    /// ```
    ///
    /// - Returns: The endless condition.
    /// - Throws: What a step throws when it is tried out a second time.
    public func repeating() throws -> NetworkCondition {
        var endless = self
        for step in steps { try step.change(&endless.trial) }
        endless.isRepeating = true
        return endless
    }

    /// The name.
    public var description: String { name }

    func step(_ number: Int) -> Step? {
        guard !steps.isEmpty else { return nil }
        if isRepeating { return steps[number % steps.count] }
        return number < steps.count ? steps[number] : nil
    }
}
