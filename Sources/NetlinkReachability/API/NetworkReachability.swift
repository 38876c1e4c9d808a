// SPDX-License-Identifier: Apache-2.0

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
/// Each query asks the kernel at that moment: its policy rules, routing tables, metrics and neighbours decide, not
/// a copy of them. No packet is sent to the target. A handle is small, can be kept, and can be used by any number of
/// threads at once.
///
/// It cannot know whether the target answers, what a firewall drops, or which route a socket takes that is bound or
/// marked in ways that ``ReachabilityOptions`` do not describe.
///
/// Apple's counterpart is `SCNetworkReachability`.
public struct NetworkReachability: Sendable {
    /// The target of the queries.
    public var target: ReachabilityTarget { subject.target }
    /// The socket that the queries are about.
    public var options: ReachabilityOptions { subject.options }

    let subject: MonitoredTarget
    let source: NetworkSource
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
        subject = MonitoredTarget(target: target, options: options)
        self.source = source
    }

    /// Creates a handle for a host name, an address, or an address with an interface (`fe80::1%eth0`).
    ///
    /// A name is not resolved here but by each query, within ``ReachabilityOptions/Resolution/timeout``.
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
    /// Asks for the flags, and blocks the thread while a name is resolved.
    ///
    /// An address takes one query to the kernel, which is answered in microseconds. A name is waited for at most for
    /// ``ReachabilityOptions/Resolution/timeout``. Asynchronous functions call ``flags()``.
    ///
    /// Apple's counterpart is `SCNetworkReachabilityGetFlags`.
    ///
    /// - Returns: The flags; an empty set means that packets cannot leave for the target.
    /// - Throws: `ReachabilityError` if the query could not be answered, which is not the same as no.
    public func blockingFlags() throws(ReachabilityError) -> ReachabilityFlags {
        try source.facts.flags(of: subject.target, subject.options)
    }

    /// Asks for the flags and the facts that led to them, and blocks the thread while a name is resolved.
    ///
    /// The flags are those of ``blockingFlags()``. A full report evaluates every address of a name and finds out more
    /// about the interface, which costs a little more.
    ///
    /// - Parameter detail: How much the report contains. What it does not contain costs nothing.
    /// - Returns: The report.
    /// - Throws: `ReachabilityError` if the query could not be answered, which is not the same as no.
    public func blockingReport(
        _ detail: ReachabilityReport.Detail = .full
    ) throws(ReachabilityError) -> ReachabilityReport {
        try source.facts.report(on: subject.target, subject.options, detail)
    }
}
