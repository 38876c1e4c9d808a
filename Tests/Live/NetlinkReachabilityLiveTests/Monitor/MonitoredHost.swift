// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import TestNamespaces
import Testing

/// A host whose probe monitors targets while a test changes its network.
///
/// The monitor reads the kernel's notifications. Its clock belongs to the test and advances when the test
/// checks, so that delayed work is due at once.
final class MonitoredHost {
    private struct Received {
        let flags: [ReachabilityFlags]
        /// The flags of a newly opened source.
        let fresh: ReachabilityFlags
    }

    /// The receive buffer that the library requests, in bytes.
    static let standardBuffer = 8 << 20

    let host: TestNamespace
    private let targets: [String]
    private var last: [String: ReachabilityFlags] = [:]

    /// Starts monitoring targets, and expects one report for each.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - targets: Addresses or `default`, followed by options such as `interface=w0`.
    ///   - buffer: The receive buffer for notifications, in bytes.
    ///   - location: The location of the test.
    /// - Throws: When the probe could not monitor them.
    init(
        _ host: TestNamespace,
        _ targets: [String],
        buffer: Int = standardBuffer,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        self.host = host
        self.targets = targets
        let queries = targets.map { $0 == "default" ? $0 : "host \($0)" }
        try host.command(["monitor", "\(buffer)"] + queries)
        for (target, received) in zip(targets, try settle()) {
            #expect(received.flags == [received.fresh], "\(target)", sourceLocation: location)
            last[target] = received.fresh
        }
    }

    /// Expects one report for each of these targets since the last call, with these flags, none for another
    /// target, and the flags of a newly opened source for all.
    ///
    /// - Parameters:
    ///   - changes: The targets with changed flags.
    ///   - afterOthers: Whether other flags can be reported before these, where a change has several steps.
    ///   - location: The location of the test.
    /// - Throws: When the probe fails.
    func expect(
        _ changes: [String: ReachabilityFlags],
        afterOthers: Bool = false,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        for (target, received) in zip(targets, try settle()) {
            let expected = changes[target].map { [$0] } ?? []
            let reported = afterOthers ? received.flags.suffix(expected.count) : received.flags[...]
            #expect(Array(reported) == expected, "\(target)", sourceLocation: location)
            last[target] = received.flags.last ?? last[target]
            #expect(last[target] == received.fresh, "\(target) afresh", sourceLocation: location)
        }
        #expect(changes.keys.allSatisfy(targets.contains), sourceLocation: location)
    }

    /// Runs a closure while notifications queue up unread.
    func unread(_ body: () throws -> Void) throws {
        try host.command(["shut"])
        defer { _ = try? host.command(["open"]) }
        try body()
    }

    /// Sends a forged notification that loopback is gone.
    func pretend() throws {
        try host.command(["pretend"])
    }

    /// Sends the same to each socket that asks, and returns the errno of each; 0 for one that takes it.
    func pretendToAnswer() throws -> [Int32] {
        try host.command(["pretend-answer"]).map { try #require(Int32($0)) }
    }

    /// The counters of the monitor, by name.
    func counter(_ name: String) throws -> Int {
        let fields = try host.command(["counters"])
        let field = try #require(fields.first { $0.hasPrefix(name + "=") })
        return try #require(Int(field.dropFirst(name.count + 1)))
    }

    private func settle() throws -> [Received] {
        try host.command(["settle"]).map { field in
            let parts = field.split(separator: "|", omittingEmptySubsequences: false)
            let received = parts[0].split(separator: ",").compactMap { UInt32($0) }
            let fresh = try #require(parts.last.flatMap { UInt32($0) })
            return Received(
                flags: received.map { ReachabilityFlags(rawValue: $0) },
                fresh: ReachabilityFlags(rawValue: fresh)
            )
        }
    }
}

extension MonitoredHost {
    /// The targets of most tests: on the link of `w0`, the host itself, behind the gateway of `w0`, and
    /// unrelated to `w0`.
    static let usual = [
        "192.0.2.9", "192.0.2.1", "198.51.100.1", "2001:db8::9", "2001:db8::1", "2001:db8:f::1", "default",
        "203.0.113.9", "2001:db8:1::9", "127.0.0.1",
    ]
    /// The targets that need the link of `w0`.
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
