// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// Applies the kernel's messages to a snapshot, fast enough for a dump of a million routes.
///
/// ```swift
/// var intake = SnapshotIntake()
/// try reader.readAll { entry in
///     if case .message(let message) = entry.content { intake.take(message) }
/// }
/// intake.snapshot.dumpEnded(knowsNeighbours: true)
/// ```
///
/// The result equals that of ``NetlinkMessage/change`` and ``NetworkSnapshot/apply(_:)`` for each message. The
/// intake keeps the templates of the last few hundred route messages: a message that differs from one of them in
/// the prefix alone is added, or removed, without parsing its attributes.
package struct SnapshotIntake: Sendable {
    /// What became of a message.
    package enum Result: Hashable, Sendable {
        /// The snapshot includes it.
        case applied
        /// It is of a kind or family that a snapshot does not hold.
        case ignored
        /// It is cut, or its attributes overrun it.
        case malformed
    }

    /// The network after the messages taken so far.
    package var snapshot = NetworkSnapshot()
    private var cache = DecodedRouteCache()

    /// Starts with an empty snapshot.
    package init() {}

    /// Applies one message.
    @discardableResult
    package mutating func take(_ message: NetlinkMessage) -> Result {
        guard let form = DecodedRouteCache.Form(message) else { return take(message.content) }
        if let template = cache.template(form), change(template, form) { return .applied }
        return form.isRemoval ? take(message.content) : takeRoute(message, form)
    }

    @inline(__always)
    private mutating func change(_ template: RouteTemplate, _ form: DecodedRouteCache.Form) -> Bool {
        guard form.isIPv6 else {
            let key = UInt32(bigEndian: form.address.loadUnaligned(as: UInt32.self))
            return form.isRemoval
                ? snapshot.removeOnly(template, key: key, length: form.length)
                : snapshot.addFirst(template, key: key, length: form.length)
        }
        let key = AddressBits(
            high: UInt64(bigEndian: form.address.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: form.address.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
        return form.isRemoval
            ? snapshot.removeOnly(template, key: key, length: form.length)
            : snapshot.addFirst(template, key: key, length: form.length)
    }

    @inline(never)
    private mutating func takeRoute(_ message: NetlinkMessage, _ form: DecodedRouteCache.Form) -> Result {
        let content = message.content
        guard case .change(let change) = content, case .route(let route, _) = change else {
            return take(content)
        }
        snapshot.apply(change)
        if let template = snapshot.template(of: route) { cache.store(template, form) }
        return .applied
    }

    @inline(never)
    private mutating func take(_ content: NetlinkMessage.Content) -> Result {
        switch content {
        case .change(let change):
            snapshot.apply(change)
            return .applied
        case .ignored: return .ignored
        case .malformed: return .malformed
        }
    }
}
