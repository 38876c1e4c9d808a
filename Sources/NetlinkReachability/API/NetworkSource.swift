// SPDX-License-Identifier: Apache-2.0

package import RoutingModel
internal import SystemSupport

/// A network that answers queries.
public struct NetworkSource: Sendable {
    /// The facts that evaluations depend on.
    package var facts: NetworkFacts { monitor.facts }
    /// The monitor that all handles and path monitors of this source share, and which holds the facts.
    ///
    /// It is the only stored property: every handle contains a source.
    package let monitor: SharedMonitor

    /// Creates a source from its parts.
    ///
    /// - Parameters:
    ///   - routing: Answers queries about routes and interfaces.
    ///   - resolver: Resolves names.
    ///   - clock: The monitor's time; `nil` for the system's.
    ///   - resolverFiles: The files whose changes cause names to be resolved again.
    ///   - work: Counts the monitor's work in flight, for a simulated network.
    ///   - nameservers: Returns the current name servers; by default none are known.
    ///   - addressPolicy: Returns the policy that orders addresses; by default the standard one.
    ///   - trace: Called with each evaluation of the monitor; `nil` for no trace.
    ///   - changes: Opens a feed of notifications; by default there are none.
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

    /// The live kernel of the network namespace in which the process first uses this, with the system's resolver.
    ///
    /// One source serves the whole process. Its first query opens a netlink socket, and has the error if that fails:
    /// the next one tries again. Its sockets stay in that namespace, even if threads enter others later.
    public static let kernel = NetworkSource(live: .unopened())

    /// The live kernel of the network namespace that the calling thread is in now, through sockets of its own.
    ///
    /// For programs that enter namespaces. The system's resolver resolves names on threads that it starts. A thread is
    /// in the namespace of the thread that asked about its first name, and resolves names that waited for it there too.
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
    /// How many queries are observed: `NetworkSource(2 observed)`.
    public var debugDescription: String { "NetworkSource(\(monitor.userCount) observed)" }
}

extension NetworkSource {
    /// The same network with another resolver for names.
    ///
    /// The new source has a monitor of its own, which resolves names through the resolver. Handles of both sources can
    /// be used side by side.
    ///
    /// - Parameter resolver: Resolves the names of all targets of the new source.
    /// - Returns: The new source.
    public func resolving(with resolver: some NameResolver) -> NetworkSource {
        copy(CustomResolver(resolver), monitor.trace)
    }

    /// The same network, whose monitor calls a closure with each evaluation of what is observed.
    ///
    /// ```swift
    /// let source = NetworkSource.kernel.tracing { logger.debug("\($0)") }
    /// ```
    ///
    /// The new source has a monitor of its own. Only what is observed through it is traced.
    ///
    /// - Parameter trace: Called on the monitor's thread, and for first values on the thread that begins the
    ///   observation; it must not wait.
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
    /// - Returns: The report, the entries of the kernel's tables that its packets take, and those that the packets
    ///   around them take where the kernel shows where they go.
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
    /// What the monitor of this source has done, for all its handles and path monitors together.
    public var monitorCounters: MonitorCounters {
        monitor.counters
    }
}
