// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

/// What a simulated resolver says to names.
///
/// ```swift
/// var names = SimulatedNames()
/// names["example.com"] = .addresses(IPAddress(198, 51, 100, 7))
/// names["broken.example"] = .failing
/// names.others = .hanging
/// ```
///
/// Numeric addresses never come to a resolver.
public struct SimulatedNames: Hashable, Sendable {
    /// What becomes of a name.
    public struct Answer: Hashable, Sendable {
        enum Value: Hashable {
            case addresses([IPAddress])
            case notFound, failing, timingOut, hanging
        }

        let value: Value

        /// There is no such name, or it has no addresses.
        public static let notFound = Answer(value: .notFound)
        /// It cannot be told for now: no server answers to any purpose.
        public static let failing = Answer(value: .failing)
        /// The time is over at once, without the clock having to move.
        public static let timingOut = Answer(value: .timingOut)
        /// Nothing comes until the name is given another answer, or the question's time is over on the clock.
        ///
        /// A call of `flags()` or `report()` hangs with it: make it from a task of its own.
        public static let hanging = Answer(value: .hanging)

        /// The name has these addresses, in this order.
        ///
        /// ``SimulatedHost/resolve(_:to:)`` takes them as text.
        public static func addresses(_ addresses: IPAddress...) -> Answer {
            Answer(value: .addresses(addresses))
        }
    }

    private var answers: [String: Answer] = [:]
    /// What becomes of all names that nothing is said about.
    public var others = Answer.notFound
    /// What becomes of every name whatever is said about it, as behind a captive portal; `nil` for nothing.
    public var captive: Answer?

    /// The name servers that the resolver asks: a path supports DNS while it leads to one of them.
    public var servers: [IPAddress] = []

    /// Knows no names.
    public init() {}

    /// What becomes of a name; `nil` for the same as of all others.
    ///
    /// Upper case counts as lower, and a dot at the end is left out.
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
    /// What the resolver says at once; `nil` for nothing.
    func resolution(families: ReachabilityOptions.Families) -> HostResolution? {
        switch value {
        case .addresses(let addresses):
            let admitted = addresses.filter { families.contains($0.unmapped.family == .v4 ? .v4 : .v6) }
            return admitted.isEmpty ? .notFound : .addresses(admitted)
        case .notFound: return .notFound
        case .failing: return .failed("Temporary failure in name resolution")
        case .timingOut: return .timedOut
        case .hanging: return nil
        }
    }
}

extension SimulatedHost {
    /// Has the resolver answer a name with addresses.
    ///
    /// ```swift
    /// try host.resolve("example.com", to: "198.51.100.7", "2001:db8::7")
    /// ```
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - addresses: Its addresses, in this order.
    /// - Throws: ``SimulationError`` when one of them is no address.
    public mutating func resolve(_ name: String, to addresses: String...) throws(SimulationError) {
        var parsed: [IPAddress] = []
        for text in addresses { parsed.append(try Parsing.address(text)) }
        names[name] = SimulatedNames.Answer(value: .addresses(parsed))
    }
}
