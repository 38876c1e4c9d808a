// SPDX-License-Identifier: Apache-2.0

public import Dispatch

extension NetworkReachability {
    /// Calls a handler with the current flags, and then whenever they change.
    ///
    /// ```swift
    /// let reachability = try NetworkReachability(host: "example.com")
    /// let observation = try reachability.observe { result in
    ///     switch result {
    ///     case .success(let flags): print(isNetworkReachable(flags: flags) ? "online" : "offline")
    ///     case .failure(let error): print("unknown: \(error)")
    ///     }
    /// }
    /// ```
    ///
    /// The observation ends when it is released: keep it. See ``NetworkObservation`` for what holds for the calls.
    ///
    /// Apple's counterparts are `SCNetworkReachabilitySetCallback` and `SCNetworkReachabilitySetDispatchQueue`.
    ///
    /// - Parameters:
    ///   - delivery: Where the handler is called.
    ///   - initial: What happens to the current flags.
    ///   - handler: Called with the flags, or the reason that there are none.
    /// - Returns: The observation.
    /// - Throws: `ReachabilityError` if no netlink socket or thread can be created.
    public func observe(
        on delivery: CallbackDelivery = .queue(.global()),
        initial: InitialValue = .deliver,
        _ handler: @escaping @Sendable (Result<ReachabilityFlags, ReachabilityError>) -> Void
    ) throws(ReachabilityError) -> NetworkObservation<ReachabilityFlags> {
        try observe(.flags, on: delivery, initial: initial, handler)
    }

    /// Calls a handler with the current flags or report, and then whenever they change.
    ///
    /// - Parameters:
    ///   - value: What the handler is called with, and what counts as a change of it.
    ///   - delivery: Where the handler is called.
    ///   - initial: What happens to the current value.
    ///   - handler: Called with the value, or the reason that there is none.
    /// - Returns: The observation.
    /// - Throws: `ReachabilityError` if no netlink socket or thread can be created.
    public func observe<Value>(
        _ value: MonitoredValue<Value>,
        on delivery: CallbackDelivery = .queue(.global()),
        initial: InitialValue = .deliver,
        _ handler: @escaping @Sendable (Result<Value, ReachabilityError>) -> Void
    ) throws(ReachabilityError) -> NetworkObservation<Value> {
        try source.observe(value.query(subject), on: delivery, initial: initial, handler)
    }

    /// Calls a handler that can end its observation with the current flags or report, and then whenever they change.
    ///
    /// - Parameters:
    ///   - value: What the handler is called with, and what counts as a change of it.
    ///   - delivery: Where the handler is called.
    ///   - initial: What happens to the current value.
    ///   - handler: Called with the observation, and the value or the reason that there is none.
    /// - Returns: The observation.
    /// - Throws: `ReachabilityError` if no netlink socket or thread can be created.
    public func observe<Value>(
        _ value: MonitoredValue<Value>,
        on delivery: CallbackDelivery = .queue(.global()),
        initial: InitialValue = .deliver,
        _ handler:
            @escaping @Sendable (
                _ observation: NetworkObservation<Value>, _ result: Result<Value, ReachabilityError>
            ) -> Void
    ) throws(ReachabilityError) -> NetworkObservation<Value> {
        try source.observe(value.query(subject), on: delivery, initial: initial, handler)
    }

    /// Calls a handler on the main actor with the current flags or report, and then whenever they change.
    ///
    /// ```swift
    /// observation = try reachability.observe(.flags, on: MainActor.self) { result in
    ///     label.text = (try? result.get())?.letters
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - value: What the handler is called with, and what counts as a change of it.
    ///   - actor: The main actor.
    ///   - initial: What happens to the current value.
    ///   - handler: Called with the value, or the reason that there is none.
    /// - Returns: The observation.
    /// - Throws: `ReachabilityError` if no netlink socket or thread can be created.
    public func observe<Value>(
        _ value: MonitoredValue<Value>,
        on actor: MainActor.Type,
        initial: InitialValue = .deliver,
        _ handler: @escaping @MainActor (Result<Value, ReachabilityError>) -> Void
    ) throws(ReachabilityError) -> NetworkObservation<Value> {
        try source.observe(value.query(subject), on: actor, initial: initial, handler)
    }

    /// The flags as a sequence: the current flags, and then every change.
    ///
    /// ```swift
    /// for try await flags in reachability.updates {
    ///     print(flags.letters)
    /// }
    /// ```
    ///
    /// See ``NetworkUpdates`` for failures and for the end.
    public var updates: NetworkUpdates<ReachabilityFlags> {
        updates(of: .flags)
    }

    /// Flags or reports as a sequence: the current value, and then every change.
    ///
    /// ```swift
    /// for try await report in reachability.updates(of: .reports()) {
    ///     print(report.flags.letters, report.reason)
    /// }
    /// ```
    ///
    /// - Parameter value: What the elements are, and what counts as a change of them.
    /// - Returns: The sequence.
    public func updates<Value>(of value: MonitoredValue<Value>) -> NetworkUpdates<Value> {
        source.updates(of: value.query(subject))
    }
}

/// What is observed of the target of a handle: flags or reports, and what counts as a change of them.
///
/// ```swift
/// for try await report in reachability.updates(of: .reports(onChangeOf: .report)) {
///     print(report.flags.letters, report.interface?.name ?? "-", report.gateway?.description ?? "-")
/// }
/// ```
public struct MonitoredValue<Value: Sendable>: Sendable {
    /// Returns the query about a target.
    let query: @Sendable (MonitoredTarget) -> NetworkQuery<Value>
}

extension MonitoredValue<ReachabilityFlags> {
    /// The flags, whenever they change: see ``NetworkQuery/flags(of:options:)``.
    public static let flags = MonitoredValue { NetworkQuery(FlagsQuery(target: $0)) }
}

extension MonitoredValue<ReachabilityReport> {
    /// Reports: see ``NetworkQuery/reports(on:options:_:onChangeOf:)``.
    ///
    /// - Parameters:
    ///   - detail: How much a report contains. The evaluations run on the monitor's thread.
    ///   - change: What counts as a change.
    /// - Returns: The value to observe.
    public static func reports(
        _ detail: ReachabilityReport.Detail = .brief,
        onChangeOf change: ReachabilityReport.Change = .flags
    ) -> Self {
        Self { NetworkQuery(ReportQuery(target: $0, detail: detail, changes: change)) }
    }
}
