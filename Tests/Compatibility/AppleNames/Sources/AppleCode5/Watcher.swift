// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One way of watching the network, running.
public struct Watcher: Sendable {
    /// What it is called.
    public let name: String
    /// Ends it.
    public let stop: @Sendable () -> Void
}

/// Starts every way of watching that this module has.
///
/// - Parameter report: Called with the way's name and whether the network is there.
/// - Returns: The watchers.
/// - Throws: `ListenerError` when a target cannot be created or scheduled.
@MainActor public func startWatchers(_ report: @escaping @Sendable (String, Bool) -> Void) throws -> [Watcher]
{
    let listener = try ReachabilityListener()
    listener.whenReachable = { _ in report("class with closures", true) }
    listener.whenUnreachable = { _ in report("class with closures", false) }
    try listener.start()
    guard let manager = StatusManager() else { throw ListenerError.noCallback(0) }
    manager.startListening { report("manager", $0 != .notReachable) }
    return [
        Watcher(name: "class with closures") { listener.stop() },
        Watcher(name: "manager") { manager.stopListening() },
        relay("literal", report, { $0.startWithLiteral() }, { $0.stop() }),
        relay("global function", report, { $0.startWithFunction() }, { $0.stop() }),
        relay("@convention(c) constant", report, { $0.startWithConstant() }, { $0.stop() }),
        relay("main run loop", report, { $0.startOnMainRunLoop() }, { $0.stopOnMainRunLoop() }),
        relay("common modes", report, { $0.startInCommonModes() }, { $0.stopInCommonModes() }),
        mainActorClient(report),
        pathMonitor(report),
    ]
}

private func relay(
    _ name: String,
    _ report: @escaping @Sendable (String, Bool) -> Void,
    _ start: (Relay) -> Void,
    _ stop: @escaping @Sendable (Relay) -> Void
) -> Watcher {
    let relay = Relay { report(name, $0) }
    start(relay)
    // An address gets no first callback: read the flags instead.
    relay.report(relay.reachability.currentFlags?.contains(.reachable) ?? false)
    return Watcher(name: name) { stop(relay) }
}

@MainActor private func mainActorClient(_ report: @escaping @Sendable (String, Bool) -> Void) -> Watcher {
    let relay = Relay { report("main actor", $0) }
    MainActorClient(relay).start()
    relay.report(relay.reachability.currentFlags?.contains(.reachable) ?? false)
    return Watcher(name: "main actor") { relay.stop() }
}

private func pathMonitor(_ report: @escaping @Sendable (String, Bool) -> Void) -> Watcher {
    let monitor = PathMonitor()
    let token = NotificationCenter.default.addObserver(
        forName: .connectivityStatus, object: monitor, queue: nil
    ) { notification in
        guard let monitor = notification.object as? PathMonitor else { return }
        report("path monitor", monitor.isConnected)
    }
    monitor.startMonitoring()
    let observer = Observer(token: token)
    return Watcher(name: "path monitor") {
        monitor.stopMonitoring()
        NotificationCenter.default.removeObserver(observer.token)
    }
}

/// The token goes back to the notification centre from whichever thread ends the watcher.
private final class Observer: @unchecked Sendable {
    let token: NSObjectProtocol

    init(token: NSObjectProtocol) {
        self.token = token
    }
}
