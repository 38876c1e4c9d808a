// SPDX-License-Identifier: Apache-2.0

/// A named network, like a profile of Apple's Network Link Conditioner, with optional steps over time.
///
/// ```swift
/// let network = SimulatedNetwork(.wifi)
/// network.apply(.offline)
///
/// let roaming = try NetworkCondition("roaming") { host in
///     try host.addInterface("wlan0", .wifi)
///     try host.addAddress("192.0.2.3", prefixLength: 24, to: "wlan0")
///     try host.addRoute(.default(via: "192.0.2.1"))
/// }
/// .then(after: .seconds(10)) { try $0.setCarrier("wlan0", isPresent: false) }
/// .then(after: .milliseconds(800)) { try $0.setCarrier("wlan0", isPresent: true) }
/// .repeating()
/// ```
public struct NetworkCondition: Sendable, CustomStringConvertible {
    typealias Change = @Sendable (inout SimulatedHost) throws -> Void

    /// A change, with the delay after the previous step.
    struct Step: Sendable {
        let delay: Duration
        let change: Change
    }

    /// The name, for messages.
    public let name: String
    let setUp: Change
    private var steps: [Step] = []
    private var isRepeating = false
    /// A host to which the set-up and all steps have been applied.
    private var trial = SimulatedHost()

    /// Creates a condition, and applies it once to a scratch host, so that mistakes throw immediately.
    ///
    /// - Parameters:
    ///   - name: The name, for messages.
    ///   - setUp: Builds the network on a host that has only its loopback interface.
    /// - Throws: What `setUp` throws.
    public init(
        _ name: String,
        _ setUp: @escaping @Sendable (inout SimulatedHost) throws -> Void
    ) throws {
        self.name = name
        self.setUp = setUp
        try setUp(&trial)
    }

    /// Returns this condition with one more step.
    ///
    /// ```swift
    /// let short = try NetworkCondition("short") { try $0.addInterface("eth0") }
    ///     .then(after: .seconds(1)) { try $0.removeInterface("eth0") }
    /// ```
    ///
    /// - Parameters:
    ///   - delay: The time after the previous step, or after the condition is applied; more than zero.
    ///   - change: The change.
    /// - Returns: The longer condition.
    /// - Throws: The errors of `change`, which is applied once to a scratch host.
    public func then(
        after delay: Duration,
        _ change: @escaping @Sendable (inout SimulatedHost) throws -> Void
    ) throws -> NetworkCondition {
        try require(
            delay > .zero, .failedStep,
            "the delay \(delay) of a step of \(name) is not positive: pass more than zero")
        var longer = self
        try change(&longer.trial)
        longer.steps.append(Step(delay: delay, change: change))
        return longer
    }

    /// Returns this condition with its steps in an endless loop.
    ///
    /// ```swift
    /// let endless = try NetworkCondition("blinking") { try $0.addInterface("eth0") }
    ///     .then(after: .seconds(1)) { try $0.setCarrier("eth0", isPresent: false) }
    ///     .then(after: .seconds(1)) { try $0.setCarrier("eth0", isPresent: true) }
    ///     .repeating()
    /// ```
    ///
    /// - Returns: The endless condition.
    /// - Throws: The errors of a step, which is applied to a scratch host a second time.
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
