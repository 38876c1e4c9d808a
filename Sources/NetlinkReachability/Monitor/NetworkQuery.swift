// SPDX-License-Identifier: Apache-2.0

/// A query to a network: the flags or the report of a target, whether anything answers on its path, the default
/// path, the identity of its network, the status of a connection, the order of addresses, events.
///
/// ```swift
/// let path = try await NetworkSource.kernel.value(of: .path())
/// let observation = try NetworkSource.kernel.observe(.path()) { result in
///     if case .success(let path) = result { print(path) }
/// }
/// ```
///
/// A query is a value: it holds no socket. It can be asked and observed any number of times, even concurrently.
public struct NetworkQuery<Value: Sendable>: Sendable {
    /// What is evaluated.
    let query: any Query<Value>

    init(_ query: any Query<Value>) {
        self.query = query
    }

    /// The name that is resolved first; `nil` if the query has no name.
    package var name: String? { query.namedTarget?.target.name }
}

extension NetworkQuery: CustomStringConvertible {
    /// The query in words, such as `flags of 192.0.2.1`.
    public var description: String { query.description }
}

extension NetworkQuery<ReachabilityFlags> {
    /// The flags of a target.
    ///
    /// The flags are empty while an interface does not exist that the target or the options name. It can still
    /// appear.
    ///
    /// - Parameters:
    ///   - target: The target; by default the default path.
    ///   - options: The socket that the query is about.
    /// - Returns: The query.
    public static func flags(
        of target: ReachabilityTarget = .defaultPath,
        options: ReachabilityOptions = ReachabilityOptions()
    ) -> Self {
        Self(FlagsQuery(target: target, options: options))
    }
}

extension NetworkQuery<ReachabilityReport> {
    /// The flags of a target and the facts that led to them, from one evaluation.
    ///
    /// - Parameters:
    ///   - target: The target; by default the default path.
    ///   - options: The socket that the query is about.
    ///   - detail: How much a report contains. An observation makes its reports on the monitor's thread.
    ///   - change: What counts as a change.
    /// - Returns: The query.
    public static func report(
        of target: ReachabilityTarget = .defaultPath,
        options: ReachabilityOptions = ReachabilityOptions(),
        _ detail: ReachabilityReport.Detail = .brief,
        onChangeOf change: ReachabilityReport.Change = .flags
    ) -> Self {
        Self(ReportQuery(FlagsQuery(target: target, options: options), detail, change))
    }
}

extension NetworkQuery<NetworkEvent> {
    /// The events of the machine and its monitor.
    ///
    /// Events have no current value: the first value comes with the first event. A slow receiver gets the oldest of
    /// the last 256 events first.
    public static var events: Self { Self(EventQuery()) }
}

extension NetworkQuery where Value: Equatable {
    /// Creates a query for a value that the program reads itself, not from the kernel.
    ///
    /// - Parameters:
    ///   - description: What the value is.
    ///   - read: Returns the present value; it must not wait. After a change, the program calls
    ///     ``NetworkSource/evaluateAgain()``.
    package init(_ description: String, reading read: @escaping @Sendable () -> Value) {
        self.init(OutsideQuery(description, read))
    }
}
