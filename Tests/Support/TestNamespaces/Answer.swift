// SPDX-License-Identifier: Apache-2.0

package import NetlinkReachability

/// The answer of the library to a query in a namespace.
package struct Answer: Hashable, Sendable, CustomStringConvertible {
    /// The report's flags.
    package let flags: ReachabilityFlags
    /// The flags of `flags()`, without a report.
    package let flagsAlone: ReachabilityFlags
    /// The rest of the report, by name: `reason`, `interface`, `gateway`, `source` and so on.
    private let fields: [String: String]

    init(_ fields: [String]) throws(NamespaceFailure) {
        var named: [String: String] = [:]
        for field in fields {
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw NamespaceFailure("an answer without a name: \(fields)") }
            named[String(parts[0])] = String(parts[1])
        }
        func flags(_ name: String) throws(NamespaceFailure) -> ReachabilityFlags {
            if named["error"] != nil { return [] }
            guard let bits = named[name].flatMap({ UInt32($0) }) else {
                throw NamespaceFailure("an answer without \(name): \(fields)")
            }
            return ReachabilityFlags(rawValue: bits)
        }
        self.flags = try flags("flags")
        flagsAlone = try flags("alone")
        self.fields = named
    }

    /// The code of the error that the library threw; `nil` when it answered.
    package var error: String? { fields["error"] }
    /// The code of the report's reason.
    package var reason: String { fields["reason"] ?? "" }
    /// The sentence of the report's reason.
    package var text: String { fields["text"] ?? "" }
    /// How the results for several addresses at once differ; empty when they do not.
    package var together: String { fields["together"] ?? "" }
    /// How a socket contradicts the flags; empty when it does not.
    package var witness: String { fields["witness"] ?? "" }
    /// The address that decided.
    package var address: String { fields["address"] ?? "" }
    /// The outgoing interface's name.
    package var interface: String { fields["interface"] ?? "" }
    /// The outgoing interface's type.
    package var interfaceType: String { fields["type"] ?? "" }
    /// The gateway.
    package var gateway: String { fields["gateway"] ?? "" }
    /// The source address.
    package var source: String { fields["source"] ?? "" }
    /// The outcome of connect(2); empty if no socket can show it.
    package var connect: String { fields["connect"] ?? "" }
    /// Every address with its flags.
    package var findings: [String] { fields["findings"]?.split(separator: ",").map(String.init) ?? [] }

    package var description: String {
        let rest = fields.filter { $0.key != "flags" && $0.key != "alone" && !$0.value.isEmpty }
        let words = rest.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        return ([flags.letters] + words).joined(separator: ", ")
    }
}

// MARK: - Queries

/// The subject of a query of a test.
package enum Query: Sendable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    /// A name or an address as a user writes it.
    case host(String)
    /// A remote address from a local one.
    case pair(local: String, remote: String)
    /// A socket address with its zone.
    case socketAddress(String, zone: Int)
    /// The default path.
    case defaultPath

    package init(stringLiteral text: String) {
        self = .host(text)
    }

    /// The query as fields for the probe.
    var fields: [String] {
        switch self {
        case .host(let text): ["host", text]
        case .pair(let local, let remote): ["pair", local, remote]
        case .socketAddress(let address, let zone): ["sockaddr", address, "\(zone)"]
        case .defaultPath: ["default"]
        }
    }
}

extension TestNamespace {
    /// Asks the probe, through the handle that it keeps for this query.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - options: The options of the socket, such as `interface=eth0`, `mark=7` or `families=v4`.
    /// - Returns: The library's answer, which can be an error.
    /// - Throws: An error when the probe cannot ask.
    package func ask(_ query: Query, _ options: [String] = []) throws(NamespaceFailure) -> Answer {
        try Answer(try command(["report"] + query.fields + options))
    }

    /// Asks through a new process for this query alone.
    package func askAfresh(_ query: Query, _ options: [String] = []) throws(NamespaceFailure) -> Answer {
        let result = try run([try Self.probePath, "report"] + query.fields + options)
        let fields = Fields.read(String(result.output.prefix { $0 != "\n" }))
        guard result.status == 0, fields.first == "ok" else { throw NamespaceFailure(result.output) }
        return try Answer(Array(fields.dropFirst()))
    }
}
