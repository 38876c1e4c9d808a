// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkReachability

/// Queries to the library, through handles that are kept.
struct Queries {
    private var handles: [[String]: NetworkReachability] = [:]
    /// Whether the next query goes together with others before it is asked alone.
    private var asksTogetherFirst = false

    /// Asks about a target: `host NAME`, `pair LOCAL REMOTE`, `sockaddr ADDRESS ZONE` or `default`, then
    /// options as `key=value`.
    ///
    /// - Returns: `key=value` fields; only `error` and `message` when the library throws.
    mutating func ask(_ fields: [String]) throws -> [String] {
        do {
            let handle = try handles[fields] ?? Self.handle(fields)
            handles[fields] = handle
            asksTogetherFirst.toggle()
            let early = asksTogetherFirst ? try Together(handle) : nil
            let alone = try handle.blockingFlags()
            let report = try handle.blockingReport()
            let together = try early ?? Together(handle)
            let contradiction = Witness(report, handle.options).contradiction
            return Self.fields(report, alone: alone) + [
                "together=\(together?.difference(from: alone, try handle.blockingReport(.brief)) ?? "")",
                "witness=\(contradiction ?? "")",
            ]
        } catch let error as ReachabilityError {
            return ["error=\(error.code)", "message=\(error)"]
        }
    }

    private static func fields(_ report: ReachabilityReport, alone: ReachabilityFlags) -> [String] {
        [
            "flags=\(report.flags.rawValue)",
            "alone=\(alone.rawValue)",
            "reason=\(report.reason.code)",
            "text=\(report.reason)",
            "address=\(report.address?.description ?? "")",
            "interface=\(report.interface?.name ?? "")",
            "type=\(report.interface?.type.rawValue ?? "")",
            "gateway=\(report.gateway?.description ?? "")",
            "source=\(report.sourceAddress?.description ?? "")",
            "connect=\(report.connectResult?.description ?? "")",
            "findings=\(report.findings.map { "\($0.address)=\($0.flags.letters)" }.joined(separator: ","))",
        ]
    }

    // MARK: Handles

    /// Creates the handle of a query.
    static func handle(_ fields: [String], source: NetworkSource = .kernel) throws -> NetworkReachability {
        let words = fields.filter { !$0.contains("=") }
        let options = try options(fields.filter { $0.contains("=") })
        switch (words.first, words.count) {
        case ("default", 1):
            return NetworkReachability(target: .defaultPath, options: options, source: source)
        case ("host", 2):
            return try NetworkReachability(host: words[1], options: options, source: source)
        case ("pair", 3):
            return try NetworkReachability(
                target: .pair(local: address(words[1]), remote: address(words[2])),
                options: options,
                source: source
            )
        case ("sockaddr", 3):
            return try handle(socketAddress: words[1], zone: words[2], options: options)
        default:
            throw Probe.Failure("no such query: \(fields)")
        }
    }

    private static func handle(
        socketAddress text: String,
        zone: String,
        options: ReachabilityOptions
    ) throws -> NetworkReachability {
        guard let zone = UInt32(zone) else { throw Probe.Failure("\(zone) is not an interface index") }
        var v6 = sockaddr_in6()
        if inet_pton(AF_INET6, text, &v6.sin6_addr) == 1 {
            v6.sin6_family = sa_family_t(AF_INET6)
            v6.sin6_scope_id = zone
            return try handle(v6, options)
        }
        var v4 = sockaddr_in()
        guard inet_pton(AF_INET, text, &v4.sin_addr) == 1 else {
            throw Probe.Failure("\(text) is not an address")
        }
        v4.sin_family = sa_family_t(AF_INET)
        return try handle(v4, options)
    }

    private static func handle<SocketAddress>(
        _ socketAddress: SocketAddress,
        _ options: ReachabilityOptions
    ) throws -> NetworkReachability {
        try withUnsafeBytes(of: socketAddress) { bytes in
            guard let start = bytes.baseAddress else { throw Probe.Failure("an empty socket address") }
            return try NetworkReachability(
                target: .sockaddr(
                    start.assumingMemoryBound(to: sockaddr.self), length: socklen_t(bytes.count)),
                options: options
            )
        }
    }

    private static func address(_ text: String) throws -> IPAddress {
        guard let address = IPAddress(text) else { throw Probe.Failure("\(text) is not an address") }
        return address
    }

    static func options(_ fields: [String]) throws -> ReachabilityOptions {
        var options = ReachabilityOptions()
        // A bound for a hang: a name from a file can be slow on a busy machine.
        options.resolution.timeout = .seconds(60)
        for field in fields {
            let parts = field.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw Probe.Failure("no value in \(field)") }
            switch parts[0] {
            case "interface": options.interface = InterfaceReference(nameOrIndex: parts[1])
            case "source": options.sourceAddress = try address(parts[1])
            case "mark": options.mark = try number(parts[1])
            case "user": options.user = try number(parts[1])
            case "protocol":
                options.ipProtocol = UInt8(parts[1]).map(ReachabilityOptions.IPProtocol.init(rawValue:))
            case "port": options.destinationPort = UInt16(parts[1])
            case "source-port": options.sourcePort = UInt16(parts[1])
            case "tos": options.typeOfService = UInt8(parts[1]) ?? 0
            case "families": options.families = parts[1] == "v4" ? .v4 : .v6
            default: throw Probe.Failure("no option \(parts[0])")
            }
        }
        return options
    }

    private static func number(_ text: String) throws -> UInt32 {
        guard let number = UInt32(text) else { throw Probe.Failure("\(text) is not a number") }
        return number
    }
}

/// The results for an address that is asked about several times at once.
private struct Together {
    private let flags: [Result<ReachabilityFlags, ReachabilityError>]
    private let reports: [Result<ReachabilityReport, ReachabilityError>]

    /// `nil` if the target is not an address.
    init?(_ handle: NetworkReachability) throws {
        guard case .address = handle.target.kind else { return nil }
        let source = NetworkSource.kernel
        // More than fit into one datagram. Reports are asked in the same datagrams.
        flags = source.blockingValues(of: Array(repeating: handle.query, count: 70))
        reports = source.blockingValues(of: Array(repeating: handle.reportQuery(), count: 2))
    }

    /// Describes how the results differ from those for the address alone; `nil` if they do not.
    func difference(from flags: ReachabilityFlags, _ report: ReachabilityReport) -> String? {
        if let other = self.flags.first(where: { $0 != .success(flags) }) { return "\(other)" }
        let other = reports.first { $0 != .success(report) }
        return other.map { "\($0)" }
    }
}
