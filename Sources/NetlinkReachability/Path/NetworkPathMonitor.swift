// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import NetlinkRoute
internal import SystemSupport

/// Tells what the default path is, and every change of it.
///
/// ```swift
/// let monitor = NetworkPathMonitor()
/// monitor.pathUpdateHandler = { path in
///     print(path.status == .satisfied ? "online" : "offline", path.availableInterfaces.map(\.name))
/// }
/// monitor.start(queue: .main)
/// ```
///
/// Or as a sequence, which needs no start:
///
/// ```swift
/// for await path in NetworkPathMonitor() { print(path) }
/// ```
///
/// The path is judged by the rules of the flags, and changes are told with the same timing and the same promises:
/// the first path at once, then only paths that differ from the one before, in order, the newest for whoever is
/// slow. All monitors of a source share the thread and the announcements of its ``NetworkReachability`` handles.
///
/// What it cannot know: see ``NetworkPath``. Where no netlink socket or thread is to be had, the path is
/// unsatisfied; ``path()`` tells that from a real no.
///
/// Apple's counterpart is `NWPathMonitor`, whose members have the same names. Other than there, to start twice
/// does no harm, and the current path is right before the start.
public final class NetworkPathMonitor: Sendable {
    /// What is called with paths.
    public typealias PathUpdateHandler = @Sendable (NetworkPath) -> Void

    /// What is called with readings; it is let go of where no lock is held.
    typealias Listener = PathBroadcast.Callback.Handler

    struct State {
        var handler: PathUpdateHandler?
        /// Where the handler is called; `nil` before the start.
        var queue: DispatchQueue?
        /// The place at the monitor, while somebody listens.
        var subscription: PathSubscription?
        /// How many loops there are.
        var loops = 0
        var isCancelled = false
    }

    /// `nil` when no netlink socket was to be had at the beginning.
    private let opened: NetworkSource?
    let restriction: PathRestriction
    let metering: NetworkMetering
    let state = Locked(State())
    let broadcast = PathBroadcast()

    /// Counts what is under way, for a simulation; `nil` where nobody counts.
    var pendingWork: InFlightCounter? { opened?.monitor.work }

    /// Monitors the default path through whatever interface it leads.
    ///
    /// - Parameters:
    ///   - source: Where the facts come from; `nil` for the live kernel, see ``NetworkSource/kernel()``.
    ///   - metering: What tells the costs of interfaces.
    public convenience init(source: NetworkSource? = nil, metering: NetworkMetering = .unmetered) {
        self.init(.none, source, metering)
    }

    /// Monitors the default path through interfaces of one type.
    ///
    /// The path is satisfied where a socket that is bound to such an interface can send to anywhere.
    ///
    /// - Parameters:
    ///   - requiredInterfaceType: The type.
    ///   - source: Where the facts come from; `nil` for the live kernel.
    ///   - metering: What tells the costs of interfaces.
    public convenience init(
        requiredInterfaceType: NetworkInterface.InterfaceType,
        source: NetworkSource? = nil,
        metering: NetworkMetering = .unmetered
    ) {
        self.init(PathRestriction(required: requiredInterfaceType), source, metering)
    }

    /// Monitors the default path through interfaces of all types but some.
    ///
    /// - Parameters:
    ///   - prohibitedInterfaceTypes: The types that the path may not take.
    ///   - source: Where the facts come from; `nil` for the live kernel.
    ///   - metering: What tells the costs of interfaces.
    public convenience init(
        prohibitedInterfaceTypes: [NetworkInterface.InterfaceType],
        source: NetworkSource? = nil,
        metering: NetworkMetering = .unmetered
    ) {
        self.init(PathRestriction(prohibited: Set(prohibitedInterfaceTypes)), source, metering)
    }

    private init(_ restriction: PathRestriction, _ source: NetworkSource?, _ metering: NetworkMetering) {
        self.restriction = restriction
        self.metering = metering
        opened = source ?? (try? .kernel())
    }

    deinit {
        cancel()
    }
}

// MARK: - Asking

extension NetworkPathMonitor {
    /// The path as it is: the last one while started, else asked for now.
    ///
    /// It needs no start and no queue. While started it costs no system call, and can be newer than what a slow
    /// handler was called with.
    ///
    /// Apple's counterpart is `currentPath`, which is a placeholder before the first update.
    public var currentPath: NetworkPath {
        let known = state.withLock { $0.subscription == nil ? nil : broadcast.newest }
        if let known { return metering.applied(to: known) }
        return (try? path()) ?? .unknown
    }

    /// Asks now.
    ///
    /// - Returns: The path.
    /// - Throws: ``ReachabilityError`` when the question could not be answered, which is not the same as no.
    public func path() throws(ReachabilityError) -> NetworkPath {
        metering.applied(to: try verdict().path)
    }

    /// Where the facts come from; a socket that was not to be had is asked for again.
    func source() throws(ReachabilityError) -> NetworkSource {
        if let opened { return opened }
        return try .kernel()
    }

    /// Asks now, and tells why.
    package func verdict() throws(ReachabilityError) -> PathVerdict {
        try PathFinder(source: try source().facts, restriction: restriction).find()
    }

    /// Has the costs of the path's interfaces asked for again, and tells the path if it is another now.
    public func meteringDidChange() {
        broadcast.meteringDidChange()
    }
}
