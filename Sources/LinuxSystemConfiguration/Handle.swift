// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
public import LinuxSystemConfiguration.SCNetworkReachability
internal import NetlinkReachability
internal import SystemSupport

/// The object behind a `SCNetworkReachability`.
///
/// There are two locks. `scheduling` is held while the target is scheduled or unscheduled. `state` is held only
/// briefly. No program code runs under either lock, so every function can be called from a callback and from a
/// context's `retain` and `release`.
final class Handle: Sendable {
    struct State {
        var client: CallbackClient?
        /// `nil` while the target is not scheduled.
        var schedule: Schedule?
    }

    let subject: HandleSubject
    /// The number of times that the target was scheduled.
    let scheduling = Locked<UInt64>(0)
    let state = Locked(State())

    init(_ subject: HandleSubject) {
        self.subject = subject
    }

    /// This object as the program sees it: Swift counts references of the opaque C pointer as references of this
    /// object.
    var reference: SCNetworkReachability {
        unsafeBitCast(self, to: SCNetworkReachability.self)
    }

    /// Returns the flags; for a scheduled target, the last delivered flags.
    func flags() throws(ReachabilityError) -> ReachabilityFlags {
        let known = state.withLock { state in
            state.schedule?.deliver()
        }
        if let known { return known }
        return try subject.flags()
    }
}

// Sendable: the object behind the pointer is a `Handle`, which the compiler checks.
extension SCNetworkReachability: @unchecked Sendable {}

extension SCNetworkReachability: Hashable {
    /// A target is only equal to itself, as on Apple's platforms.
    public static func == (left: SCNetworkReachability, right: SCNetworkReachability) -> Bool {
        left === right
    }

    /// Hashes the identity of the target.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

extension SCNetworkReachability {
    /// The `Handle` behind the pointer: only this module creates targets.
    var handle: Handle {
        unsafeBitCast(self, to: Handle.self)
    }
}

// MARK: - Calls

extension Handle {
    /// Sets the client.
    ///
    /// If the target is scheduled, starts calls that are due.
    ///
    /// The previous client is released here, or by its last call.
    func setClient(_ client: CallbackClient?) {
        // It is released without the lock.
        var client = client
        let schedule = state.withLock { state in
            swap(&state.client, &client)
            return state.client != nil && state.schedule?.due != nil ? state.schedule : nil
        }
        guard let schedule else { return }
        switch schedule.place {
        case .queue(let queue): queue.async { self.call(schedule.number) }
        case .runLoops(let delivery): delivery.signal()
        }
    }

    /// Receives flags from the monitor, on the program's queue.
    func update(_ flags: ReachabilityFlags, _ number: UInt64) {
        let place = state.withLock { state in
            state.schedule?.update(flags, number)
        }
        switch place {
        case .queue: call(number)
        case .runLoops(let delivery): delivery.signal()
        case nil: break
        }
    }

    /// Calls the client until no call is due.
    ///
    /// It runs on the program's queue or run loop. If another thread is already calling, that thread continues.
    func call(_ number: UInt64) {
        while let (client, flags) = beginCall(number) {
            client.call(reference, SCNetworkReachabilityFlags(rawValue: flags.rawValue))
            state.withLock { $0.schedule?.endCall(number) }
        }
    }

    private func beginCall(_ number: UInt64) -> (CallbackClient, ReachabilityFlags)? {
        state.withLock { state in
            guard let client = state.client, let flags = state.schedule?.beginCall(number) else { return nil }
            return (client, flags)
        }
    }
}
