// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// Takes the kernel's messages into a snapshot: the quick way for a dump of a million routes.
///
/// ```swift
/// var intake = SnapshotIntake()
/// try reader.readAll { entry in
///     if case .message(let message) = entry.content { intake.take(message) }
/// }
/// intake.dumpEnded(knowsNeighbours: true)
/// ```
///
/// It comes to the same as ``NetworkChange/init(_:)`` and ``NetworkSnapshot/apply(_:)`` for each message. But
/// it remembers the last few hundred kinds of routes: one more of a kind, for a prefix without a route, is
/// neither read whole nor looked up among all attributes.
package struct SnapshotIntake {
    /// What a message was.
    package enum Verdict: Hashable, Sendable {
        /// It told something about the network.
        case taken
        /// It is of another kind or family.
        case passedOver
        /// It is cut or does not hold together.
        case malformed
    }

    /// The network so far.
    package private(set) var snapshot: NetworkSnapshot
    private var memo = DecodedRouteCache()

    /// Begins with a snapshot, an empty one unless told otherwise.
    package init(_ snapshot: NetworkSnapshot = NetworkSnapshot()) {
        self.snapshot = snapshot
    }

    /// Begins anew with each attempt until one was quiet, at most five times.
    ///
    /// - Parameter dump: Dumps all tables, and tells whether none of them changed meanwhile.
    /// - Returns: What the last attempt took in.
    /// - Throws: What an attempt threw.
    static func settled(
        _ dump: (inout SnapshotIntake) throws(RoutingFault) -> Bool
    ) throws(RoutingFault) -> SnapshotIntake {
        var intake = SnapshotIntake()
        for _ in 1...5 {
            intake = SnapshotIntake()
            if try dump(&intake) { break }
        }
        return intake
    }

    /// Takes in what one message tells.
    @discardableResult
    package mutating func take(_ message: NetlinkMessage) -> Verdict {
        guard let form = DecodedRouteCache.Form(message) else { return takeWhole(message) }
        if let likeness = memo.likeness(form), add(likeness, form) { return .taken }
        return takeRoute(message, form)
    }

    /// Says that what was taken so far was a whole dump; see ``NetworkSnapshot/dumpEnded(knowsNeighbours:)``.
    package mutating func dumpEnded(knowsNeighbours: Bool) {
        snapshot.dumpEnded(knowsNeighbours: knowsNeighbours)
    }

    /// The snapshot's clock, in the kernel's ticks; see ``NetworkSnapshot/clock``.
    package var clock: Int64 {
        get { snapshot.clock }
        set { snapshot.clock = newValue }
    }

    @inline(__always)
    private mutating func add(_ likeness: RouteTemplate, _ form: DecodedRouteCache.Form) -> Bool {
        guard form.isIPv6 else {
            let key = UInt32(bigEndian: form.address.loadUnaligned(as: UInt32.self))
            return snapshot.addFirst(likeness, key: key, length: form.length)
        }
        let key = AddressBits(
            high: UInt64(bigEndian: form.address.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: form.address.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
        return snapshot.addFirst(likeness, key: key, length: form.length)
    }

    @inline(never)
    private mutating func takeRoute(_ message: NetlinkMessage, _ form: DecodedRouteCache.Form) -> Verdict {
        guard case .route(let route) = message.content else { return takeWhole(message) }
        snapshot.apply(.route(route, RoutePlacement(messageFlags: message.flags)))
        if let likeness = snapshot.likeness(of: route) { memo.keep(likeness, form) }
        return .taken
    }

    @inline(never)
    private mutating func takeWhole(_ message: NetlinkMessage) -> Verdict {
        guard let change = NetworkChange(message) else {
            return message.content == .malformed ? .malformed : .passedOver
        }
        snapshot.apply(change)
        return .taken
    }
}
