// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// A network that answers queries.
///
/// The child of a `fork()` without `exec()` cannot use one of the kernel: it shares the sockets of its parent, and has
/// no thread of the monitor, so that its observations get no value.
public struct NetworkSource: Sendable {
    /// The facts that evaluations depend on.
    package var facts: NetworkFacts { monitor.facts }
    /// The monitor, which all handles and path monitors of this source share.
    ///
    /// It holds the facts.
    ///
    /// It is the only stored property, because every handle contains a source.
    package let monitor: SharedMonitor

    /// Creates a source from its parts.
    ///
    /// - Parameters:
    ///   - routing: Answers queries about routes and interfaces.
    ///   - resolver: Resolves names.
    ///   - clock: The monitor's clock; `nil` for the system's clock.
    ///   - resolverFiles: The files whose changes cause names to be resolved again.
    ///   - work: Counts the monitor's work in flight, for a simulated network.
    ///   - nameservers: Returns the current name servers; by default none.
    ///   - addressPolicy: Returns the policy that orders addresses; by default the standard policy.
    ///   - trace: Called with each evaluation of the monitor; `nil` for no trace.
    ///   - changes: Opens a feed of notifications; by default there is no feed.
    package init(
        routing: any RoutingSource,
        resolver: any HostResolver,
        clock: (any MonitorClock)? = nil,
        resolverFiles: [String] = [],
        work: InFlightCounter? = nil,
        nameservers: @escaping Nameservers.Source = { nil },
        addressPolicy: @escaping AddressPolicy.Source = { .standard },
        trace: (@Sendable (NetworkTrace) -> Void)? = nil,
        changes: @escaping SharedMonitor.Opening = { () throws(ReachabilityError) in nil }
    ) {
        let clock = clock ?? SystemClock()
        monitor = SharedMonitor(
            facts: NetworkFacts(
                routing: routing, resolver: resolver, nameservers: nameservers, addressPolicy: addressPolicy,
                clock: clock),
            clock: clock,
            resolverFiles: resolverFiles,
            work: work,
            trace: trace,
            opening: changes
        )
    }

    /// The live kernel, with the system's resolver, in the network namespace in which the process first uses this
    /// source.
    ///
    /// One source serves the whole process. Its first query opens a netlink socket. If that fails, the query has the
    /// error, and the next query tries again. The sockets stay in that namespace, even if threads enter others later.
    public static let kernel = NetworkSource(live: .unopened())

    /// The live kernel in the network namespace of the calling thread, through sockets of its own.
    ///
    /// For programs that enter namespaces. Every thread can ask. A thread in another namespace gets nothing that takes
    /// a socket, a file or another protocol: no `connectResult`, hash of nexthops, peers of WireGuard, or kind of a
    /// wireless interface. The first observation, loop or wait has to begin on a thread in this namespace: elsewhere it
    /// throws. So does every later one that begins while no other goes on.
    ///
    /// The system's resolver resolves names on threads that this source starts. Such a thread is in the namespace of
    /// the thread that queried its first name. It also resolves waiting names of other threads there.
    ///
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.systemFailure` if no netlink socket can
    ///   be opened.
    public static func currentNamespace() throws(ReachabilityError) -> NetworkSource {
        NetworkSource(live: try KernelRouting())
    }

    private init(live kernel: KernelRouting) {
        self.init(
            routing: kernel,
            resolver: SystemResolver.shared,
            resolverFiles: ResolverFiles.standard,
            nameservers: Nameservers.system,
            addressPolicy: AddressPolicy.system,
            changes: { () throws(ReachabilityError) in try kernel.changes() }
        )
    }
}

extension NetworkSource: CustomDebugStringConvertible {
    /// The number of observed queries: `NetworkSource(2 observed)`.
    public var debugDescription: String { "NetworkSource(\(monitor.userCount) observed)" }
}

extension NetworkSource {
    /// The same network with another resolver for names.
    ///
    /// The new source has its own monitor, which uses the new resolver. Both sources can be used at the same time.
    ///
    /// - Parameter resolver: Resolves the names of all targets of the new source.
    /// - Returns: The new source.
    public func resolving(with resolver: some NameResolver) -> NetworkSource {
        copy(CustomResolver(resolver), monitor.trace)
    }

    /// The same network, with a monitor that calls a closure after each evaluation of an observed query.
    ///
    /// ```swift
    /// let source = NetworkSource.kernel.tracing { logger.debug("\($0)") }
    /// ```
    ///
    /// The new source has its own monitor. Only observations of the new source are traced.
    ///
    /// - Parameter trace: Called on the monitor's thread. For first values, called on the thread that begins the
    ///   observation. It must not wait.
    /// - Returns: The new source.
    public func tracing(_ trace: @escaping @Sendable (NetworkTrace) -> Void) -> NetworkSource {
        copy(facts.resolver, trace)
    }

    private func copy(
        _ resolver: any HostResolver,
        _ trace: (@Sendable (NetworkTrace) -> Void)?
    ) -> NetworkSource {
        NetworkSource(
            routing: facts.routing,
            resolver: resolver,
            clock: monitor.clock,
            resolverFiles: monitor.resolverFiles,
            work: monitor.work,
            nameservers: facts.nameservers,
            addressPolicy: facts.addressPolicy,
            trace: trace,
            changes: monitor.opening
        )
    }

    /// Makes a full report on a target.
    ///
    /// - Returns: The report; the entries of the kernel's tables for its packets; and the entries for the outer
    ///   packets, if the kernel shows their destination.
    package func explained(
        _ target: ReachabilityTarget,
        options: ReachabilityOptions
    ) throws(ReachabilityError) -> (report: ReachabilityReport, entries: [Route], outer: [Route]) {
        try facts.evaluate { (known) throws(Interruption) in
            let evaluation = try known.evaluation(of: target, options, .full)
            return (
                try known.report(on: target, options, evaluation),
                evaluation.all.compactMap { $0.answer?.entry },
                evaluation.all.compactMap(\.outerEntry) + known.carrierEntries
            )
        }
    }
}

extension NetworkSource {
    /// See ``NetlinkReachability/MonitorCounters``.
    public typealias MonitorCounters = NetlinkReachability.MonitorCounters

    /// What the monitor of this source has done, for all its handles and path monitors together.
    public var monitorCounters: MonitorCounters {
        monitor.counters
    }
}
