// SPDX-License-Identifier: Apache-2.0

public import CSystemConfiguration
internal import Dispatch
internal import NetlinkReachability
internal import NetlinkRoute
internal import SystemSupport

/// The object behind a `SCNetworkReachability`.
///
/// Two locks: `scheduling` is held while the target is put on a queue or run loop or taken off, as a whole;
/// `state` for moments only. Nothing of the program's runs under either, so that every function can be called from
/// inside a callback and from a context's `retain` and `release`.
final class Handle: Sendable {
    struct State {
        var client: CallbackClient?
        /// `nil` while it is not scheduled.
        var schedule: Schedule?
        var schedules: UInt64 = 0
    }

    let subject: HandleSubject
    let scheduling = Locked<Void>(())
    let state = Locked(State())

    init(_ subject: HandleSubject) {
        self.subject = subject
    }

    /// The same object, as the program sees it: C's opaque pointers are counted by Swift as this object is.
    var reference: SCNetworkReachability {
        unsafeBitCast(self, to: SCNetworkReachability.self)
    }

    /// Finds out the flags: the last ones while scheduled.
    func flags() throws(ReachabilityError) -> ReachabilityFlags {
        let known = state.withLock { state in
            state.schedule?.tell(subject.currentFlags)
        }
        if let known { return known }
        return try subject.flags()
    }

    /// Sets whoever is called; what the one before kept is let go of here, or by its last call.
    func setClient(_ client: CallbackClient?) {
        let old = state.withLock { state in
            let old = state.client
            state.client = client
            return old
        }
        withExtendedLifetime(old) {}
        callSoon()
    }
}

// Sendable, and this is the proof: behind every one is a `Handle`, which the compiler has found to be.
// The C module is this one's own part, so that nobody else can declare it.
// swift-format-ignore: AvoidRetroactiveConformances
extension SCNetworkReachability: @unchecked @retroactive Sendable {}

extension SCNetworkReachability {
    /// The object behind it: all targets are made by this module.
    var handle: Handle {
        unsafeBitCast(self, to: Handle.self)
    }
}

// MARK: - Calls

extension Handle {
    /// Takes in flags from the monitor, where the monitor calls: on the program's queue.
    func note(_ flags: ReachabilityFlags, _ number: UInt64) {
        let place = state.withLock { state in
            state.schedule?.note(flags, number)
        }
        switch place {
        case .queue: call(number)
        case .runLoops(let delivery): delivery.signal()
        case nil: break
        }
    }

    /// Has whatever is due called where the target is scheduled.
    func callSoon() {
        let schedule = state.withLock { state in
            state.client != nil && state.schedule?.due != nil ? state.schedule : nil
        }
        guard let schedule else { return }
        switch schedule.place {
        case .queue(let queue): queue.async { self.call(schedule.number) }
        case .runLoops(let delivery): delivery.signal()
        }
    }

    /// Calls the client until nothing is due.
    ///
    /// It runs on the program's queue or run loop. Where another thread is calling already, that one goes on.
    func call(_ number: UInt64) {
        while let (client, flags) = takeCall(number) {
            client.call(reference, SCNetworkReachabilityFlags(rawValue: flags.rawValue))
            state.withLock { $0.schedule?.endCall(number) }
        }
    }

    private func takeCall(_ number: UInt64) -> (CallbackClient, ReachabilityFlags)? {
        state.withLock { state in
            guard let client = state.client, let flags = state.schedule?.beginCall(number) else { return nil }
            return (client, flags)
        }
    }
}
