// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute

/// Whoever wants to know of paths.
protocol PathSink: AnyObject, Sendable {
    /// Takes a path that differs from the one before; must not wait.
    func offer(_ path: NetworkPath)
}

/// A path as the monitor's thread keeps it.
///
/// Everything here belongs to that thread alone.
final class MonitoredPath {
    private let restriction: PathRestriction
    private let sink: any PathSink
    private var told: NetworkPath?

    init(restriction: PathRestriction, sink: any PathSink, told: NetworkPath?) {
        self.restriction = restriction
        self.sink = sink
        self.told = told
    }

    /// Finds the path as it is now.
    func find(_ source: NetworkFacts) -> Result<NetworkPath, ReachabilityError> {
        do {
            return .success(try PathFinder(source: source, restriction: restriction).find().path)
        } catch {
            return .failure(error)
        }
    }

    /// Tells a path, if it is news.
    func tell(_ path: NetworkPath) -> Bool {
        guard path != told else { return false }
        told = path
        sink.offer(path)
        return true
    }
}

/// A path's place at the monitor.
struct PathSubscription: Sendable {
    private let monitor: SharedMonitor
    private let membership: SharedMonitor.Registration
    private let restriction: PathRestriction
    /// What was found before the start; `nil` when the question failed, which the monitor asks again.
    let firstPath: NetworkPath?

    /// Takes a place, and finds the first path on the calling thread.
    ///
    /// - Throws: ``ReachabilityError`` when the monitor cannot run; no place is taken then.
    init(_ monitor: SharedMonitor, _ restriction: PathRestriction) throws(ReachabilityError) {
        self.monitor = monitor
        self.restriction = restriction
        do {
            // In this order no change gets lost: the monitor asks again as soon as it knows of the path.
            membership = try monitor.join()
        } catch {
            throw ReachabilityError(error)
        }
        firstPath = try? PathFinder(source: monitor.facts, restriction: restriction).find().path
    }

    /// Has a sink told, from the first path on.
    func begin(_ sink: any PathSink) {
        if let firstPath { sink.offer(firstPath) }
        membership.engine.post(.addPath(membership.id, restriction, sink, firstPath))
    }

    /// Gives the place back, once.
    func end() {
        monitor.leave(membership)
    }
}
