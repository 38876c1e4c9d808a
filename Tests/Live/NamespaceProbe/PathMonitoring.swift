// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import NetlinkReachability
internal import NetlinkReachabilityTestKit
internal import NetlinkRoute
internal import RoutingModel
internal import SystemSupport

/// Started path monitors of the live kernel, and what each was told, under a clock that only ``settle()`` moves.
struct PathMonitoring {
    private struct Watched {
        let restriction: String
        let monitor: NetworkPathMonitor
        let told = Locked<[NetworkPath]>([])
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
            changes: { () throws(RoutingFault) in try kernel.changes() }
        )
        for restriction in restrictions {
            let one = Watched(restriction: restriction, monitor: try Self.monitor(restriction, source))
            one.monitor.pathUpdateHandler = { [told = one.told] path in told.withLock { $0.append(path) } }
            one.monitor.start(queue: queue)
            watched.append(one)
        }
    }

    /// Lets the time go by until nothing is put off any more.
    ///
    /// - Returns: For each monitor what it was told since the last time, with `; ` between, then `|` and what a
    ///   source says that has just been opened.
    func settle() throws -> [String] {
        for _ in 0..<3 {
            quiesce()
            clock.advance(by: .seconds(1))
        }
        quiesce()
        let fresh = NetworkSource(routing: try KernelRouting(), resolver: SystemResolver.shared)
        return try watched.map { one in
            let told = one.told.withLock { told in
                defer { told = [] }
                return told
            }
            let path = try Self.monitor(one.restriction, fresh).path()
            guard one.monitor.currentPath == path else { throw Probe.Failure("not the path: \(path)") }
            return told.map(Self.words).joined(separator: "; ") + "|" + Self.words(path)
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
        // A handler is put on the queue again after each call.
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
