// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability
internal import RoutingModel
internal import TestSupport

/// What sockets and the library say about one triple.
struct Testimony {
    let triple: Triple
    /// The socket that sends, and the refusal where none does.
    private let connected: RouteQuery?
    private let refusal: SocketWitness.Outcome?
    /// The library's flags, or its error in words.
    let flags: Answer
    /// The reasons of negative flags: one, or those of every address that stands for the default path.
    private let reasons: [String]
    /// The entry of the tables that matches the packets of the socket that sends, if the flags are negative.
    private let entry: RouteAnswer?
    /// Whether the packets of that socket leave through an interface that works.
    private let leaves: Bool
    /// What becomes of packets through a tunnel.
    let tunnel: TunnelTestimony?
    /// How the library's default path, or what carries a tunnel, differs from what the sockets take.
    private let difference: String?

    enum Answer: Equatable {
        case flags(ReachabilityFlags)
        /// The library cannot decide: the source address of another user's or protocol's socket is ambiguous.
        case undecided
        case error(String)

        init(_ error: ReachabilityError) {
            self = error.code == .undecided ? .undecided : .error(error.description)
        }
    }

    /// Asks the sockets, then the library.
    init(_ triple: Triple, _ network: WitnessedNetwork) {
        self.triple = triple
        let sockets = triple.queries.map { ($0, SocketWitness.connect($0)) }
        let connected = sockets.first { $0.1.connects == true }
        self.connected = connected?.0
        refusal = connected == nil ? sockets.first?.1 : nil
        do throws(ReachabilityError) {
            let reachability = NetworkReachability(
                target: .address(triple.target), options: triple.options, source: network.source)
            let found = try reachability.blockingFlags()
            let isSure = found.contains(.reachable) || connected == nil
            // Only a difference needs a reason, which costs a second query.
            let reasons = isSure ? [] : try Self.reasons(reachability, connected?.0.destination.family)
            let entry = isSure ? nil : try connected.flatMap(network.entry)
            let leaves = isSure ? false : try connected.map(network.leaves) == true
            let inTunnel =
                triple.kind == .tunnel && connected != nil ? try TunnelTestimony(triple, network) : nil
            let path =
                triple.kind == .defaultPath
                ? try PathTestimony(triple, found, sockets.filter { $0.1.connects == true }, network) : nil
            // The best nexthop had counted, which the packets of the socket do not take.
            let isAddress = triple.kind != .defaultPath && triple.kind != .tunnel
            let takesDead =
                isAddress && found.contains(.reachable) && !found.contains(.isLocalAddress)
                ? try connected.map(network.takesDead) == true : false
            let isLost = triple.kind == .transparent ? try Self.losesTransparent(triple, network) : false
            (flags, self.reasons, tunnel) = (.flags(found), reasons, inTunnel)
            (self.entry, self.leaves) = (entry, leaves)
            difference =
                inTunnel?.difference ?? path?.rawValue ?? (takesDead ? "the socket takes a dead link" : nil)
                ?? (isLost ? "a transparent socket is lost for its address" : nil)
        } catch {
            (flags, reasons, tunnel, difference) = (Answer(error), [], nil, nil)
            (entry, leaves) = (nil, false)
        }
    }

    /// Whether the library says that a connected socket has lost its address, which can be none of the host's.
    private static func losesTransparent(
        _ triple: Triple,
        _ network: WitnessedNetwork
    ) throws(ReachabilityError) -> Bool {
        guard let query = triple.queries.first else { return false }
        let status = try SocketWitness.withTransparent(query) { (socket) throws(ReachabilityError) in
            let connection = try NetworkConnection(fileDescriptor: socket)
            return try network.source.blockingValue(of: .status(of: connection))
        }
        return status?.state == .lost && status?.reason.code == .notOwnAddress
    }

    /// The reasons of negative flags; for the default path those of one family.
    private static func reasons(
        _ reachability: NetworkReachability,
        _ family: IPAddress.Family?
    ) throws(ReachabilityError) -> [String] {
        let report = try reachability.blockingReport()
        guard report.target == .defaultPath else { return [report.reason.code.description] }
        return report.findings.filter { $0.address.family == family }.map(\.reason.code.description)
    }

    /// Whether the library says what the sockets do.
    var agrees: Bool {
        guard case .flags(let flags) = flags else { return false }
        return flags.contains(.reachable) == (connected != nil) && difference == nil
    }

    /// The sort of difference: the kind of binding, the family and both answers.
    var sort: String {
        let group = triple.target.isGroup ? "group " : ""
        let families = Set(triple.queries.map { "\($0.destination.unmapped.family)" }).sorted()
        return "\(triple.kind) \(families.joined(separator: " and ")) \(group)\(self)"
    }

    /// The exception that explains the difference; `nil` where none does.
    var exception: WitnessException? {
        if let exception = tunnel?.exception { return exception }
        guard case .flags(let flags) = flags, !flags.contains(.reachable), difference == nil, let connected
        else {
            return nil
        }
        let exceptions = reasons.lazy.compactMap { WitnessException(connected, reason: $0) { entry } }
        return exceptions.first { $0 != .deadLink || !leaves }
    }
}

extension Testimony: CustomStringConvertible {
    var description: String {
        let socket = refusal.map(\.description) ?? "connects"
        switch flags {
        case .flags(let flags):
            let words = ["socket \(socket), library \(flags.letters)"] + reasons
            return (words + (difference.map { ["but \($0)"] } ?? [])).joined(separator: " ")
        case .undecided: return "socket \(socket), library undecided"
        case .error(let text): return "socket \(socket), library error: \(text)"
        }
    }
}
