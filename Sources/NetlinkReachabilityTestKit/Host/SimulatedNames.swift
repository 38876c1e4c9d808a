// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability
internal import RoutingModel

/// The answers of a simulated resolver.
///
/// ```swift
/// var names = SimulatedNames()
/// names["example.com"] = .addresses("198.51.100.7", "2001:db8::7")
/// names["broken.example"] = .failing
/// names.others = .hanging
/// ```
///
/// Numeric addresses are never resolved.
public struct SimulatedNames: Hashable, Sendable {
    /// The answer for a name.
    public struct Answer: Hashable, Sendable {
        /// The result for addresses of all families; `nil` when the resolver hangs.
        let result: ResolvedName?

        /// The name does not exist or has no addresses.
        public static let notFound = Answer(result: .success(.notFound))
        /// The name servers fail temporarily.
        public static let failing = Answer(
            result: .success(.failed("Temporary failure in name resolution")))
        /// The resolution times out at once, without a move of the clock.
        public static let timingOut = Answer(result: .success(.timedOut))
        /// The resolver does not answer until the name gets another answer or the resolution times out on the clock.
        ///
        /// A call of `flags()` or `report()` blocks until then: make the call in its own task.
        public static let hanging = Answer(result: nil)

        /// The resolver itself cannot run, for example for lack of a thread or a descriptor.
        ///
        /// Queries throw `ReachabilityError` with the code `resolverFailure`. A monitor
        /// delivers the failure, keeps the last flags, and tries again.
        public static let unavailable = Answer(
            result: .failure(
                ReachabilityError(
                    .resolverFailure, operation: "resolve a name",
                    message: "the simulated resolver cannot run")))

        /// The name has these addresses, in this order.
        public static func addresses(_ addresses: any SimulatedAddress...) -> Answer {
            Answer(result: .success(.addresses(addresses.map(\.simulatedAddress))))
        }
    }

    private var answers: [String: Answer] = [:]
    /// The answer for names without their own answer.
    public var others = Answer.notFound
    /// The answer for every name, as behind a captive portal; `nil` without a portal.
    public var captive: Answer?

    /// The configured name servers; a path supports DNS while packets can leave to a name server.
    public var servers: [IPAddress] = []

    /// Creates answers without names.
    public init() {}

    /// The answer for a name; `nil` for ``others``.
    ///
    /// Case and a trailing dot are ignored.
    public subscript(name: String) -> Answer? {
        get { answers[Self.key(name)] }
        set { answers[Self.key(name)] = newValue }
    }

    func answer(to name: String) -> Answer {
        captive ?? self[name] ?? others
    }

    private static func key(_ name: String) -> String {
        let lower = name.lowercased()
        return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }
}

extension SimulatedNames.Answer {
    /// The immediate result; `nil` when the resolver hangs.
    func result(families: ReachabilityOptions.Families) -> ResolvedName? {
        guard case .success(.addresses(let addresses))? = result else { return result }
        let admitted = addresses.filter { families.contains($0.unmapped.family == .v4 ? .v4 : .v6) }
        return .success(admitted.isEmpty ? .notFound : .addresses(admitted))
    }
}
