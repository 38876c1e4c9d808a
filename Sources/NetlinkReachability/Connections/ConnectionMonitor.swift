// SPDX-License-Identifier: Apache-2.0

/// Calls a handler with the status of a connection, and then whenever it changes.
///
/// ```swift
/// let monitor = try ConnectionMonitor(connection, on: .queue(queue)) { result in
///     if case .success(let status) = result, status.state == .lost { reconnect() }
/// }
/// ```
///
/// The handler is called as that of ``NetworkReachability/start(_:on:initial:_:)`` is: one call after the other, with
/// no lock held, never twice in a row with the same result, and with the newest result if it is slow.
///
/// Releasing the monitor ends it: keep it as long as the socket is open. All monitors of a source share one thread.
///
/// Apple's counterparts are the `viabilityUpdateHandler` and `betterPathUpdateHandler` of `NWConnection`.
public final class ConnectionMonitor: Sendable {
    /// The connection.
    public var connection: NetworkConnection { sink.question.connection }

    private let sink: CallbackSink<ConnectionQuery>
    private let registration: SharedMonitor.Registration

    /// Begins to follow a connection.
    ///
    /// - Parameters:
    ///   - connection: The connection.
    ///   - source: The network that answers; `nil` for the live kernel, see ``NetworkSource/kernel()``.
    ///   - delivery: Where the handler is called.
    ///   - handler: Called with the status, or the reason that there is none.
    /// - Throws: `ReachabilityError` if no netlink socket or thread can be created.
    public init(
        _ connection: NetworkConnection,
        source: NetworkSource? = nil,
        on delivery: CallbackDelivery = .ownQueue,
        _ handler: @escaping @Sendable (Result<ConnectionStatus, ReachabilityError>) -> Void
    ) throws(ReachabilityError) {
        let monitor = if let source { source.monitor } else { try NetworkSource.kernel().monitor }
        let question = ConnectionQuery(connection: connection)
        let subscription = try Subscription(question, monitor)
        registration = subscription.registration
        sink = CallbackSink(question, delivery: delivery, work: monitor.work, handler: handler)
        subscription.begin(sink)
    }

    deinit {
        cancel()
    }

    /// The latest status, which can be newer than the one that a slow handler was called with; `nil` if the connection
    /// could not be evaluated yet.
    public var currentStatus: ConnectionStatus? {
        sink.answered
    }

    /// Ends the calls, and releases the handler.
    ///
    /// Called on the handler's queue, if that is serial, no call comes after this returns. Called elsewhere, a call
    /// that has begun can still be running, and none begins later.
    public func cancel() {
        guard let handler = sink.close(keepsStored: false) else { return }
        registration.end()
        // Released without a lock.
        withExtendedLifetime(handler) {}
    }
}

extension ConnectionMonitor: CustomDebugStringConvertible {
    /// The connection, and its status once it is known.
    public var debugDescription: String {
        "ConnectionMonitor(\(connection)\(currentStatus.map { ", \($0)" } ?? ""))"
    }
}
