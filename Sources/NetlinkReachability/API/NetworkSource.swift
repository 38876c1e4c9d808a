// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute
internal import SystemSupport

/// Where a ``NetworkReachability`` gets its facts from.
public struct NetworkSource: Sendable {
    /// The facts that evaluations rest on.
    package let facts: NetworkFacts
    /// The monitor that all handles and path monitors of this source share.
    package let monitor: SharedMonitor

    /// Makes a source of one's own.
    ///
    /// - Parameters:
    ///   - routing: What answers.
    ///   - resolver: What resolves names.
    ///   - clock: The time that monitors go by; `nil` for the system's.
    ///   - resolverFiles: The files whose change makes names be resolved again.
    ///   - work: Counts what monitors have under way; `nil` where nobody wants to know.
    ///   - nameservers: Tells the name servers, anew at each call; left out where nothing is known of them.
    ///   - changes: Opens what announces changes; left out where nothing ever does.
    package init(
        routing: any RoutingSource,
        resolver: any HostResolver,
        clock: (any MonitorClock)? = nil,
        resolverFiles: [String] = [],
        work: InFlightCounter? = nil,
        nameservers: @escaping Nameservers.Source = { nil },
        changes: @escaping SharedMonitor.Opening = Self.nothingChanges
    ) {
        facts = NetworkFacts(routing: routing, resolver: resolver, nameservers: nameservers)
        monitor = SharedMonitor(
            facts: facts,
            clock: clock ?? SystemClock(),
            resolverFiles: resolverFiles,
            work: work,
            opening: changes
        )
    }

    /// Announces nothing, for facts that do not change.
    package static let nothingChanges: SharedMonitor.Opening = { () throws(RoutingFault) in SilentFeed() }

    private init(_ kernel: KernelRouting) {
        self.init(
            routing: kernel,
            resolver: SystemResolver.shared,
            resolverFiles: ResolverFiles.standard,
            nameservers: Nameservers.system,
            changes: { () throws(RoutingFault) in try kernel.changes() }
        )
    }

    private static let processWide = Locked<NetworkSource?>(nil)

    /// The live kernel of the network namespace in which the process first asked, with the system's resolver.
    ///
    /// One source serves the whole process: its sockets stay in that namespace, whatever threads do later.
    ///
    /// - Throws: ``ReachabilityError`` with the code ``ReachabilityError/Code/systemFailure`` when no netlink
    ///   socket can be had.
    public static func kernel() throws(ReachabilityError) -> NetworkSource {
        do {
            return try processWide.withLock { (kept) throws(RoutingFault) in
                if let kept { return kept }
                let source = NetworkSource(try KernelRouting.shared())
                kept = source
                return source
            }
        } catch {
            throw ReachabilityError(error)
        }
    }

    /// The live kernel of the network namespace that the calling thread is in now, through sockets of its own.
    ///
    /// For programs that enter namespaces. Names are resolved by the system's resolver, which asks from the
    /// namespace of a thread of its own.
    ///
    /// - Throws: ``ReachabilityError`` with the code ``ReachabilityError/Code/systemFailure`` when no netlink
    ///   socket can be had.
    public static func currentNamespace() throws(ReachabilityError) -> NetworkSource {
        do {
            return NetworkSource(try KernelRouting())
        } catch {
            throw ReachabilityError(error)
        }
    }

    /// A recorded network: the routing state of a host as it was at the end of a recording.
    ///
    /// ```swift
    /// let source = try NetworkSource.recording(path: "router.rtnl")   // written by `netflags record`
    /// let reachability = try NetworkReachability(target: .host("192.0.2.7"), source: source)
    /// print(try reachability.flags())
    /// ```
    ///
    /// It is read whole, once; every question is answered in process, and no netlink socket is needed. What the
    /// recording does not tell is never guessed: such a question ends with ``ReachabilityError/Code/undecided``.
    ///
    /// A recording holds no names: they are resolved now, by this host's resolver. Rules that look at the user
    /// see this process's one, unless ``ReachabilityOptions/user`` names another.
    ///
    /// - Parameter path: A file of `netflags record`, of `rtmon` or `ip monitor file`, or a packet capture of an
    ///   nlmon device in pcap format.
    /// - Returns: The source; it keeps no descriptor.
    /// - Throws: ``ReachabilityError`` with the code ``ReachabilityError/Code/unreadableRecording`` when the file
    ///   cannot be read or is malformed anywhere; its message tells the byte and the reason.
    public static func recording(path: String) throws(ReachabilityError) -> NetworkSource {
        do {
            let routing = try RecordedRouting(RecordingReader(path: path))
            return NetworkSource(routing: routing, resolver: SystemResolver.shared)
        } catch {
            throw ReachabilityError(error)
        }
    }
}

extension ReachabilityError {
    fileprivate init(_ fault: RecordingFault) {
        var number: Int32 = 0
        if case .unreadable(let errno) = fault.reason { number = errno }
        self.init(
            .unreadableRecording, operation: "read the recording", number: number, message: "\(fault)")
    }
}

/// Announces nothing, for facts that do not change.
private struct SilentFeed: ChangeFeed {
    let descriptor: Int32 = -1
    let refusedGroups = 0
    let counters = FeedCounters()

    func read(_ body: (KernelNotification) -> Void) throws(RoutingFault) -> FeedReading {
        .empty
    }
}
