// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import TestNamespaces
import Testing

/// A host whose probe monitors targets while a test changes its network.
///
/// The monitor reads the kernel's own announcements. Only its clock is the test's: it moves when the test looks,
/// so that whatever was put off is due and nothing has to be waited for.
final class MonitoredHost {
    private struct Told {
        let flags: [ReachabilityFlags]
        /// What a source says that has just been opened.
        let fresh: ReachabilityFlags
    }

    /// What the monitor asks for in use, in bytes.
    static let standardBuffer = 8 << 20

    let host: TestNamespace
    private let targets: [String]
    private var last: [String: ReachabilityFlags] = [:]

    /// Starts to monitor targets, and expects to be told of each once.
    ///
    /// - Parameters:
    ///   - host: Where they are monitored.
    ///   - targets: Addresses or `default`, options such as `interface=w0` behind them after a space.
    ///   - buffer: The receive buffer for announcements, in bytes.
    ///   - location: Where the test stands.
    /// - Throws: When the probe could not monitor them.
    init(
        _ host: TestNamespace,
        _ targets: [String],
        buffer: Int = standardBuffer,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        self.host = host
        self.targets = targets
        let questions = targets.map { $0 == "default" ? $0 : "host \($0)" }
        try host.command(["monitor", "\(buffer)"] + questions)
        for (target, told) in zip(targets, try settle()) {
            #expect(told.flags == [told.fresh], "\(target)", sourceLocation: location)
            last[target] = told.fresh
        }
    }

    /// Expects that these targets were told of since the last time, once each and with these flags, that no other
    /// was, and that all flags are what a source says that has just been opened.
    func expect(
        _ changes: [String: ReachabilityFlags],
        at location: SourceLocation = #_sourceLocation
    ) throws {
        for (target, told) in zip(targets, try settle()) {
            let expected = changes[target].map { [$0] } ?? []
            #expect(told.flags == expected, "\(target)", sourceLocation: location)
            last[target] = told.flags.last ?? last[target]
            #expect(last[target] == told.fresh, "\(target) afresh", sourceLocation: location)
        }
        #expect(changes.keys.allSatisfy(targets.contains), sourceLocation: location)
    }

    /// Has announcements pile up unread while something is done.
    func unread(_ body: () throws -> Void) throws {
        try host.command(["shut"])
        defer { _ = try? host.command(["open"]) }
        try body()
    }

    /// Has somebody who is not the kernel announce that loopback is gone.
    func pretend() throws {
        try host.command(["pretend"])
    }

    /// What the monitor has counted, by the names of its counters.
    func counter(_ name: String) throws -> Int {
        let fields = try host.command(["counters"])
        let field = try #require(fields.first { $0.hasPrefix(name + "=") })
        return try #require(Int(field.dropFirst(name.count + 1)))
    }

    private func settle() throws -> [Told] {
        try host.command(["settle"]).map { field in
            let parts = field.split(separator: "|", omittingEmptySubsequences: false)
            let told = parts[0].split(separator: ",").compactMap { UInt32($0) }
            let fresh = try #require(parts.last.flatMap { UInt32($0) })
            return Told(
                flags: told.map { ReachabilityFlags(rawValue: $0) },
                fresh: ReachabilityFlags(rawValue: fresh)
            )
        }
    }
}

extension MonitoredHost {
    /// What is monitored in most tests: on the link of `w0`, the host itself, behind the gateway there, and what
    /// has nothing to do with `w0`.
    static let usual = [
        "192.0.2.9", "192.0.2.1", "198.51.100.1", "2001:db8::9", "2001:db8::1", "2001:db8:f::1", "default",
        "203.0.113.9", "2001:db8:1::9", "127.0.0.1",
    ]
    /// Those of them that need the link of `w0`.
    static let throughW0 = [
        "192.0.2.9", "198.51.100.1", "2001:db8::9", "2001:db8:f::1", "default",
    ]

    /// A host with two wires and the default routes of both families through `w0`.
    static func routed() throws -> MonitoredHost {
        let host = try TestNamespace.twoWires()
        try host.addDefaultRoutes()
        return try MonitoredHost(host, usual)
    }
}

extension [String] {
    /// These targets, each with the same flags.
    func all(_ flags: ReachabilityFlags) -> [String: ReachabilityFlags] {
        Dictionary(uniqueKeysWithValues: map { ($0, flags) })
    }
}
