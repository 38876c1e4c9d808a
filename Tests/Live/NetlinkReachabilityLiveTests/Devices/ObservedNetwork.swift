// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import TestNamespaces
import Testing

/// A host whose targets are monitored, and compared after each change of its network: the monitor's reports, a kept
/// handle, a new process, the kernel's own answer, a socket, and a recording of that moment.
final class ObservedNetwork {
    /// What is expected of a target.
    struct Expected {
        let flags: ReachabilityFlags
        let reason: String
        var interface: String?
        var gateway: String?

        /// On the link of an interface.
        static func direct(_ interface: String) -> Self {
            Self(flags: .direct, reason: "onLink", interface: interface)
        }

        /// Through a gateway.
        static func routed(_ interface: String, via gateway: String) -> Self {
            Self(flags: .routed, reason: "gateway", interface: interface, gateway: gateway)
        }

        /// Reachable through a gateway, inside other packets.
        static func encapsulated(_ interface: String, via gateway: String) -> Self {
            Self(flags: .routed, reason: "encapsulated", interface: interface, gateway: gateway)
        }

        /// Over a tunnel or a dial-up link without a gateway.
        static func tunnelled(_ interface: String) -> Self {
            Self(flags: .tunnelled, reason: "pointToPoint", interface: interface)
        }

        /// An address of the host.
        static let own = Self(flags: .own, reason: "localAddress")

        /// Not reachable, for a reason.
        static func unreachable(_ reason: String) -> Self {
            Self(flags: .none, reason: reason)
        }
    }

    let host: TestNamespace
    private let monitored: MonitoredHost
    private var current: [String: Expected]

    /// Starts to monitor targets, and compares their first answers.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - targets: Addresses or `default`, followed by options such as `interface=w0`, with the expected answers.
    ///   - location: The location of the test.
    /// - Throws: When a target could not be asked about.
    init(
        _ host: TestNamespace,
        _ targets: KeyValuePairs<String, Expected>,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        self.host = host
        current = Dictionary(uniqueKeysWithValues: targets.map { ($0.key, $0.value) })
        monitored = try MonitoredHost(host, current.keys.sorted(), at: location)
        try compare(at: location)
    }

    /// Expects these answers from now on, the previous ones of all other targets, and one report of the monitor for
    /// each target whose flags have changed.
    ///
    /// - Parameters:
    ///   - changes: The targets with changed answers.
    ///   - afterOthers: Whether other flags can be reported before these, where a change has several steps.
    ///   - location: The location of the test.
    /// - Throws: When a target could not be asked about.
    func expect(
        _ changes: [String: Expected],
        afterOthers: Bool = false,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        let reported = changes.filter { current[$0.key]?.flags != $0.value.flags }
        try monitored.expect(reported.mapValues(\.flags), afterOthers: afterOthers, at: location)
        current.merge(changes) { $1 }
        try compare(at: location)
    }

    /// Expects the type of the interface that a target is reached through.
    func expectType(
        _ type: String,
        of target: String,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        let (query, options) = Self.parts(of: target)
        #expect(try host.ask(query, options).interfaceType == type, sourceLocation: location)
    }

    // MARK: Comparisons

    private func compare(at location: SourceLocation) throws {
        for (target, expected) in current {
            let (query, options) = Self.parts(of: target)
            try host.expect(
                query, expected.flags, expected.reason,
                through: expected.interface, gateway: expected.gateway, options: options, at: location)
        }
        try compareWithRecording(at: location)
    }

    /// Records the host, and expects the answers of the live kernel from the recording.
    private func compareWithRecording(at location: SourceLocation) throws {
        let netflags = try TestNamespace.program("netflags")
        let groups = Dictionary(grouping: current.keys.sorted()) { Self.parts(of: $0).options }
        for (options, targets) in groups {
            let words = options.map { "--" + $0.replacing("=", with: " ") } + targets.map(Self.word)
            let query = "--json " + words.joined(separator: " ")
            let live = try host.run(["sh", "-c", "\(netflags) \(query)"]).output
            let replayed = try host.run([
                "sh", "-c", "\(netflags) record - 2>/dev/null | \(netflags) --replay - \(query)",
            ]).output
            #expect(replayed == live, "of a recording", sourceLocation: location)
        }
    }

    private static func word(_ target: String) -> String {
        String(target.prefix { $0 != " " })
    }

    private static func parts(of target: String) -> (query: Query, options: [String]) {
        let words = target.split(separator: " ").map(String.init)
        let query = words[0] == "default" ? Query.defaultPath : .host(words[0])
        return (query, Array(words.dropFirst()))
    }
}
