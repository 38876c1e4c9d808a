// SPDX-License-Identifier: Apache-2.0

public import Dispatch
internal import RoutingModel

/// Answers whether and how this host can send packets to a target.
///
/// ```swift
/// import NetlinkReachability
///
/// let reachability = try NetworkReachability(host: "example.com")
/// let flags = try await reachability.flags()
/// print(flags.letters, flags.isNetworkReachable)   // -R ------- true
/// ```
///
/// Each query asks the kernel at that moment: the kernel's policy rules, routing tables, metrics and neighbours
/// decide, not a copy of them. No packet is sent to the target. A handle is small, can be kept, and can be used by
/// any number of threads at once.
///
/// It cannot know whether the target answers, what a firewall drops, or the route of a socket that is bound or marked
/// in ways that ``ReachabilityOptions`` do not describe.
///
/// Apple's counterpart is `SCNetworkReachability`.
public struct NetworkReachability: Sendable {
    /// The target of the queries.
    public var target: ReachabilityTarget { subject.target }
    /// The socket that the queries are about.
    public var options: ReachabilityOptions { subject.options }

    /// The network that answers the queries.
    public let source: NetworkSource
    private let subject: FlagsQuery

    /// Creates a handle for a target.
    ///
    /// - Parameters:
    ///   - target: The target; by default the default path.
    ///   - options: The socket that the queries are about.
    ///   - source: The network that answers.
    public init(
        target: ReachabilityTarget = .defaultPath,
        options: ReachabilityOptions = ReachabilityOptions(),
        source: NetworkSource = .kernel
    ) {
        subject = FlagsQuery(target: target, options: options)
        self.source = source
    }

    /// Creates a handle for a host name, an address, or an address with an interface (`fe80::1%eth0`).
    ///
    /// Each query resolves the name, within ``ReachabilityOptions/Resolution/timeout``. This initializer does not.
    ///
    /// - Parameters:
    ///   - host: The name or address, without scheme, port and path.
    ///   - options: The socket that the queries are about.
    ///   - source: The network that answers.
    /// - Throws: `ReachabilityError` if the text is neither a name nor an address.
    public init(
        host: String,
        options: ReachabilityOptions = ReachabilityOptions(),
        source: NetworkSource = .kernel
    ) throws(ReachabilityError) {
        self.init(target: try .host(host), options: options, source: source)
    }

    /// Creates a handle for an address.
    ///
    /// - Parameters:
    ///   - address: The address; 0.0.0.0 and :: stand for the default path.
    ///   - options: The socket that the queries are about.
    ///   - source: The network that answers.
    public init(
        address: IPAddress,
        options: ReachabilityOptions = ReachabilityOptions(),
        source: NetworkSource = .kernel
    ) {
        self.init(target: .address(address), options: options, source: source)
    }
}

extension NetworkReachability: CustomDebugStringConvertible {
    /// The target: `NetworkReachability(192.0.2.1)`.
    public var debugDescription: String { "NetworkReachability(\(target))" }
}

// MARK: - Queries

extension NetworkReachability {
    /// The query for the flags: see ``NetworkQuery/flags(of:options:)``.
    ///
    /// Pass it to the functions of ``NetworkSource``, alone or with other queries.
    public var query: NetworkQuery<ReachabilityFlags> { NetworkQuery(subject) }

    /// The query for a report: see ``NetworkQuery/report(of:options:_:onChangeOf:)``.
    ///
    /// ```swift
    /// for try await report in reachability.source.updates(of: reachability.reportQuery(onChangeOf: .report)) {
    ///     print(report.flags.letters, report.interface?.name ?? "-", report.gateway?.description ?? "-")
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - detail: How much a report contains.
    ///   - change: What counts as a change.
    /// - Returns: The query.
    public func reportQuery(
        _ detail: ReachabilityReport.Detail = .brief,
        onChangeOf change: ReachabilityReport.Change = .flags
    ) -> NetworkQuery<ReachabilityReport> {
        NetworkQuery(ReportQuery(subject, detail, change))
    }

    /// Asks for the flags without blocking a thread of the concurrency runtime.
    ///
    /// ```swift
    /// let flags = try await NetworkReachability(host: "example.com").flags()
    /// ```
    ///
    /// The same as ``NetworkSource/value(of:)`` with ``query``: see there for the calling thread and for errors.
    ///
    /// - Returns: The flags; an empty set means that packets cannot leave for the target.
    /// - Throws: `ReachabilityError` if the query could not be answered, which does not mean that the target is
    ///   unreachable; `CancellationError` if the task is cancelled while a name is resolved.
    nonisolated(nonsending) public func flags() async throws -> ReachabilityFlags {
        try await source.value(of: query)
    }

    /// Asks for the flags, and blocks the thread while a name is resolved.
    ///
    /// The same as ``NetworkSource/blockingValue(of:)`` with ``query``. Asynchronous functions call ``flags()``.
    ///
    /// Apple's counterpart is `SCNetworkReachabilityGetFlags`.
    ///
    /// - Returns: The flags; an empty set means that packets cannot leave for the target.
    /// - Throws: `ReachabilityError` if the query could not be answered, which does not mean that the target is
    ///   unreachable.
    public func blockingFlags() throws(ReachabilityError) -> ReachabilityFlags {
        try source.blockingValue(of: query)
    }

    /// Asks for the flags and the facts that led to them, without blocking a thread of the concurrency runtime.
    ///
    /// The flags are those of ``flags()``. A full report also evaluates every address of a name and finds out more
    /// about the interface, which costs a little more.
    ///
    /// - Parameter detail: How much the report contains. Parts that it does not contain cost nothing.
    /// - Returns: The report.
    /// - Throws: The errors of ``flags()``.
    nonisolated(nonsending) public func report(
        _ detail: ReachabilityReport.Detail = .full
    ) async throws -> ReachabilityReport {
        try await source.value(of: reportQuery(detail))
    }

    /// Asks for the flags and the facts that led to them, and blocks the thread while a name is resolved.
    ///
    /// - Parameter detail: How much the report contains. What it does not contain costs nothing.
    /// - Returns: The report of ``report(_:)``.
    /// - Throws: `ReachabilityError` if the query could not be answered, which does not mean that the target is
    ///   unreachable.
    public func blockingReport(
        _ detail: ReachabilityReport.Detail = .full
    ) throws(ReachabilityError) -> ReachabilityReport {
        try source.blockingValue(of: reportQuery(detail))
    }
}

// MARK: - Waiting

extension NetworkReachability {
    /// Waits until the target can be reached, as ``isNetworkReachable(flags:)`` decides.
    ///
    /// ```swift
    /// try await reachability.waitUntilReachable(timeout: .seconds(30))
    /// ```
    ///
    /// - Parameter timeout: The longest time to wait; `nil` for no limit.
    /// - Returns: The flags with which the target can be reached.
    /// - Throws: The errors of ``wait(timeout:until:)``.
    @discardableResult
    nonisolated(nonsending) public func waitUntilReachable(
        timeout: Duration? = nil
    ) async throws -> ReachabilityFlags {
        try await wait(timeout: timeout) { $0.isNetworkReachable }
    }

    /// Waits until the flags meet a condition.
    ///
    /// ```swift
    /// try await reachability.wait { !$0.isNetworkReachable }
    /// ```
    ///
    /// Returns at once if the current flags meet the condition. Failed evaluations do not end the wait. For other
    /// queries, see ``NetworkSource/wait(for:timeout:until:)``.
    ///
    /// - Parameters:
    ///   - timeout: The longest time to wait; `nil` for no limit. With zero, the target is evaluated once, and a name
    ///     is resolved within ``ReachabilityOptions/Resolution/timeout``.
    ///   - condition: Returns whether the wait ends.
    /// - Returns: The flags that met the condition.
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.timedOut` after the time-out. Its text and
    ///   its `ReachabilityError.reason` are those of the last evaluation; if that failed, its
    ///   `ReachabilityError.underlyingError` is the failure. With another code if the monitor cannot run, or with a
    ///   time-out of zero if the evaluation fails. `CancellationError` if the task is cancelled.
    @discardableResult
    nonisolated(nonsending) public func wait(
        timeout: Duration? = nil,
        until condition: (ReachabilityFlags) -> Bool
    ) async throws -> ReachabilityFlags {
        // The report has the reason for the error. The condition is called only when the flags differ.
        var last: ReachabilityFlags?
        return try await source.wait(for: reportQuery(onChangeOf: .report), timeout: timeout) { report in
            defer { last = report.flags }
            return report.flags != last && condition(report.flags)
        }.flags
    }
}

// MARK: - Observing

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
    /// The observation ends when it is released: keep it. ``NetworkObservation`` describes the calls. For other
    /// queries, see ``NetworkSource``.
    ///
    /// Apple's counterparts are `SCNetworkReachabilitySetCallback` and `SCNetworkReachabilitySetDispatchQueue`.
    ///
    /// - Parameters:
    ///   - delivery: The queue or thread on which the handler is called.
    ///   - initial: The treatment of the current flags.
    ///   - handler: Called with the flags, or the reason that there are none.
    /// - Returns: The observation.
    /// - Throws: `ReachabilityError` if no netlink socket or thread can be created.
    public func observe(
        on delivery: NetworkSource.Delivery = .queue(.global()),
        initial: NetworkSource.InitialValue = .deliver,
        _ handler: @escaping @Sendable (Result<ReachabilityFlags, ReachabilityError>) -> Void
    ) throws(ReachabilityError) -> NetworkObservation<ReachabilityFlags> {
        try source.observe(query, on: delivery, initial: initial, handler)
    }

    /// Calls a handler on the main actor with the current flags, and then whenever they change.
    ///
    /// ```swift
    /// observation = try reachability.observe(on: MainActor.self) { result in
    ///     label.text = (try? result.get())?.letters
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - actor: The main actor.
    ///   - initial: The treatment of the current flags.
    ///   - handler: Called with the flags, or the reason that there are none.
    /// - Returns: The observation.
    /// - Throws: `ReachabilityError` if no netlink socket or thread can be created.
    public func observe(
        on actor: MainActor.Type,
        initial: NetworkSource.InitialValue = .deliver,
        _ handler: @escaping @MainActor (Result<ReachabilityFlags, ReachabilityError>) -> Void
    ) throws(ReachabilityError) -> NetworkObservation<ReachabilityFlags> {
        try source.observe(query, on: actor, initial: initial, handler)
    }

    /// The flags as a sequence: the current flags, and then every change.
    ///
    /// ```swift
    /// for try await flags in reachability.updates {
    ///     print(flags.letters)
    /// }
    /// ```
    ///
    /// See ``NetworkUpdates`` for failures and the end of the sequence.
    public var updates: NetworkUpdates<ReachabilityFlags> {
        source.updates(of: query)
    }
}
