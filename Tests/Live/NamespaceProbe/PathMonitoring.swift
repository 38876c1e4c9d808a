// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import NetlinkReachability
internal import NetlinkReachabilityTestKit
internal import NetlinkRoute
internal import RoutingModel
internal import SystemSupport

/// Started path monitors of the live kernel with the paths each received, on a clock that only ``settle()``
/// advances.
struct PathMonitoring {
    private struct Watched {
        let restriction: String
        let monitor: NetworkPathMonitor
        let received = Locked<[NetworkPath]>([])
    }

    private let clock = ManualClock()
    private let source: NetworkSource
    private let queue = DispatchQueue(label: "paths")
    private var watched: [Watched] = []

    /// Starts a monitor for each restriction: `any`, `required=TYPE` or `prohibited=TYPE`.
    init(_ restrictions: [String]) throws {
        let kernel = try KernelRouting()
        source = NetworkSource(
            routing: kernel,
            resolver: SystemResolver.shared,
            clock: ManualMonitorClock(clock),
            changes: { () throws(ReachabilityError) in try kernel.changes() }
        )
        for restriction in restrictions {
            let one = Watched(restriction: restriction, monitor: try Self.monitor(restriction, source))
            one.monitor.pathUpdateHandler = { [received = one.received] path in
                received.withLock { $0.append(path) }
            }
            one.monitor.start(queue: queue)
            watched.append(one)
        }
    }

    /// Advances the clock until no work is delayed.
    ///
    /// - Returns: For each monitor the paths since the last call, separated by `; `, then `|` and the path of a
    ///   newly opened source.
    func settle() throws -> [String] {
        for _ in 0..<3 {
            quiesce()
            clock.advance(by: .seconds(1))
        }
        quiesce()
        let fresh = NetworkSource(routing: try KernelRouting(), resolver: SystemResolver.shared)
        return try watched.map { one in
            let received = one.received.withLock { received in
                defer { received = [] }
                return received
            }
            let path = try Self.monitor(one.restriction, fresh).path()
            guard one.monitor.currentPath == path else { throw Probe.Failure("not the path: \(path)") }
            return received.map(Self.words).joined(separator: "; ") + "|" + Self.words(path)
        }
    }

    private static func words(_ path: NetworkPath) -> String {
        (["\(path)"] + path.gateways.map { "via \($0)" }).joined(separator: " ")
    }

    private func quiesce() {
        let isIdle = DispatchSemaphore(value: 0)
        Task { [hub = source.monitor] in
            await hub.settle()
            isIdle.signal()
        }
        isIdle.wait()
        // Each call can schedule the handler again.
        for _ in 0..<4 { queue.sync {} }
    }

    private static func monitor(_ restriction: String, _ source: NetworkSource) throws -> NetworkPathMonitor {
        let words = restriction.split(separator: "=").map(String.init)
        let type = words.last.flatMap(NetworkInterface.InterfaceType.init)
        switch (words.first, type) {
        case ("any", _): return NetworkPathMonitor(source: source)
        case ("required", let type?): return NetworkPathMonitor(requiredInterfaceType: type, source: source)
        case ("prohibited", let type?):
            return NetworkPathMonitor(prohibitedInterfaceTypes: [type], source: source)
        default: throw Probe.Failure("no restriction \(restriction)")
        }
    }
}
