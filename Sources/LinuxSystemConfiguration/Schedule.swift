// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import NetlinkReachability

/// The state of one scheduling of a target: the known flags, and the delivered flags.
struct Schedule: Sendable {
    /// The queue or run loop where the client is called.
    enum Place: Sendable {
        case queue(DispatchQueue)
        case runLoops(RunLoopDelivery)
    }

    let place: Place
    /// Distinguishes this scheduling from earlier ones, which can still have pending calls.
    let number: UInt64
    /// The flags at the beginning; for a name, those of the default path.
    private let first: ReachabilityFlags
    /// The last flags from the monitor; `nil` for a name that is not resolved yet.
    private var newest: ReachabilityFlags?
    /// The flags that the program knows; `nil` while a first call is due.
    private var delivered: ReachabilityFlags?
    private var isCalling = false
    /// The observation that reports the flags; `nil` for this host, whose flags do not change.
    var observation: NetworkObservation<ReachabilityFlags>?

    init(_ place: Place, number: UInt64, first: ReachabilityFlags, owesFirstCallback: Bool) {
        self.place = place
        self.number = number
        self.first = first
        if !owesFirstCallback { (newest, delivered) = (first, first) }
    }

    /// The flags of the call that is due; `nil` for none.
    var due: ReachabilityFlags? {
        newest == delivered ? nil : newest
    }

    /// Returns the flags to a caller.
    ///
    /// This counts as the first call.
    mutating func deliver() -> ReachabilityFlags {
        let flags = observation?.current ?? newest ?? first
        delivered = delivered ?? flags
        return flags
    }

    /// Stores flags from the monitor.
    ///
    /// - Returns: The place for the client's call; `nil` if no call is due, or if the flags belong to another
    ///   scheduling.
    mutating func update(_ flags: ReachabilityFlags, _ number: UInt64) -> Place? {
        guard number == self.number else { return nil }
        newest = flags
        return due == nil ? nil : place
    }

    /// Begins the call that is due.
    mutating func beginCall(_ number: UInt64) -> ReachabilityFlags? {
        guard number == self.number, !isCalling, let flags = due else { return nil }
        isCalling = true
        delivered = flags
        return flags
    }

    mutating func endCall(_ number: UInt64) {
        guard number == self.number else { return }
        isCalling = false
    }
}
