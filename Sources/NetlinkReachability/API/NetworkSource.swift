// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute
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
        monitor = SharedMonitor(
            facts: NetworkFacts(
                routing: routing, resolver: resolver, nameservers: nameservers, addressPolicy: addressPolicy),
            clock: clock ?? SystemClock(),
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

    /// Asks for the flags of many addresses.
    ///
    /// ```swift
    /// let flags = try NetworkSource.kernel.flags(of: peers)
    /// let unreachable = zip(peers, flags).filter { !$1.isNetworkReachable }.map(\.0)
    /// ```
    ///
    /// The flags are those of `flags()` for each address. The queries go to the kernel together, up to 64 in a
    /// datagram, which costs less than one query after the other. The kernel answers them one by one: the routes can
    /// change in between.
    ///
    /// - Parameters:
    ///   - addresses: The addresses; 0.0.0.0 and :: stand for the default path.
    ///   - options: The socket that the queries are about.
    /// - Returns: The flags, in the order of the addresses.
    /// - Throws: `ReachabilityError` if one of the queries could not be answered.
    public func flags(
        of addresses: some Collection<IPAddress>,
        options: ReachabilityOptions = ReachabilityOptions()
    ) throws(ReachabilityError) -> [ReachabilityFlags] {
        try flags(of: addresses.map(ReachabilityTarget.address), options) { _ in nil }
    }

    /// Asks for the flags of many targets, among which can be names.
    ///
    /// The task is suspended while the names are resolved, side by side. Then all targets are asked about together, as
    /// addresses are.
    ///
    /// - Parameters:
    ///   - targets: The targets.
    ///   - options: The socket that the queries are about.
    /// - Returns: The flags, in the order of the targets.
    /// - Throws: `ReachabilityError` if one of the queries could not be answered; `CancellationError` if the task
    ///   is cancelled while names are resolved.
    nonisolated(nonsending) public func flags(
        of targets: some Collection<ReachabilityTarget> & Sendable,
        options: ReachabilityOptions = ReachabilityOptions()
    ) async throws -> [ReachabilityFlags] {
        let resolver = facts.resolver
        let resolutions = try await withThrowingTaskGroup(of: (String, ResolvedName).self) { group in
            for name in Set(targets.compactMap(\.name)) {
                group.addTask { (name, try await resolver.resolved(name, options)) }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        return try flags(of: Array(targets), options) { $0.name.flatMap { resolutions[$0] } }
    }

    private func flags(
        of targets: [ReachabilityTarget],
        _ options: ReachabilityOptions,
        resolution: (ReachabilityTarget) -> ResolvedName?
    ) throws(ReachabilityError) -> [ReachabilityFlags] {
        let results = facts.values(of: targets) { (target, known) throws(Interruption) in
            known.resolution = resolution(target)
            return try known.flags(of: target, options)
        }
        return try results.map { (result) throws(ReachabilityError) in try result.get() }
    }

    /// Makes reports on many targets, each as ``NetworkReachability/blockingReport(_:)`` does, and passes them to the
    /// body in the order of the targets.
    ///
    /// - Parameters:
    ///   - targets: The targets.
    ///   - options: The socket that the queries are about.
    ///   - detail: How much the reports contain.
    ///   - body: Receives the reports.
    package func reports(
        on targets: [ReachabilityTarget],
        options: ReachabilityOptions,
        _ detail: ReachabilityReport.Detail,
        _ body: (Result<ReachabilityReport, ReachabilityError>) -> Void
    ) {
        var rest = targets[...]
        while !rest.isEmpty {
            let batch = Array(rest.prefix(NetworkFacts.batchLimit))
            rest.removeFirst(batch.count)
            facts.values(of: batch) { (target, known) throws(Interruption) in
                try known.report(on: target, options, detail.evaluation)
            }.forEach(body)
        }
    }

    /// Makes a full report on a target.
    ///
    /// - Returns: The report, and the entries of the kernel's tables that its findings have.
    package func explained(
        _ target: ReachabilityTarget,
        options: ReachabilityOptions
    ) throws(ReachabilityError) -> (report: ReachabilityReport, entries: [Route]) {
        try facts.evaluate { (known) throws(Interruption) in
            let evaluation = try known.evaluation(of: target, options, .full)
            return (
                try known.report(on: target, options, evaluation),
                evaluation.all.compactMap { $0.answer?.entry }
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
