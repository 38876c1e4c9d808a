// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import NetlinkReachability

/// One time that a target is scheduled, from its beginning to its end: what is known and what was told.
struct Schedule: Sendable {
    /// Where the client is called.
    enum Place: Sendable {
        case queue(DispatchQueue)
        case runLoops(RunLoopDelivery)
    }

    let place: Place
    /// Tells this time from those before, whose calls can still be on their way.
    let number: UInt64
    /// What was true at the beginning; for a name, of the default path.
    private let first: ReachabilityFlags
    /// The last flags from the monitor; `nil` for a name that is not resolved yet.
    private var newest: ReachabilityFlags?
    /// What the program knows; `nil` while it is owed a first call.
    private var told: ReachabilityFlags?
    private var isCalling = false

    init(_ place: Place, number: UInt64, first: ReachabilityFlags, owesFirstCallback: Bool) {
        self.place = place
        self.number = number
        self.first = first
        if !owesFirstCallback { (newest, told) = (first, first) }
    }

    /// The flags that the client is to be called with; `nil` for none.
    var due: ReachabilityFlags? {
        newest == told ? nil : newest
    }

    /// Tells the flags to somebody who asks: that is as good as the first call.
    mutating func tell(_ current: ReachabilityFlags?) -> ReachabilityFlags {
        let flags = current ?? newest ?? first
        told = told ?? flags
        return flags
    }

    /// Takes in flags.
    ///
    /// - Returns: Where the client is to be called; `nil` when it is not, or they are of another time.
    mutating func note(_ flags: ReachabilityFlags, _ number: UInt64) -> Place? {
        guard number == self.number else { return nil }
        newest = flags
        return due == nil ? nil : place
    }

    /// Begins a call with what is due.
    mutating func beginCall(_ number: UInt64) -> ReachabilityFlags? {
        guard number == self.number, !isCalling, let flags = due else { return nil }
        isCalling = true
        told = flags
        return flags
    }

    mutating func endCall(_ number: UInt64) {
        guard number == self.number else { return }
        isCalling = false
    }
}
