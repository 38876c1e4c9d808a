// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkReachability
internal import RoutingModel
internal import TestSupport

/// Compares a report with what sockets get for the same query.
struct Witness {
    private let report: ReachabilityReport
    private let options: ReachabilityOptions

    init(_ report: ReachabilityReport, _ options: ReachabilityOptions) {
        self.report = report
        self.options = options
    }

    /// The contradiction; `nil` when report and sockets agree or the query cannot be put to a socket.
    var contradiction: String? {
        let outcomes = queries.map { ($0, SocketWitness.connect($0)) }
        let isReachable = report.flags.contains(.reachable)
        let connected = outcomes.filter { $0.1.connects == true }
        if isReachable {
            guard connected.isEmpty, outcomes.contains(where: { $0.1.connects == false }) else { return nil }
            return "reachable, but sockets are refused: \(Self.text(outcomes))"
        }
        let unexplained = connected.filter { socket in
            WitnessException(socket.0, reason: report.reason.code.description) { Self.entry(socket) }
                == nil
        }
        return unexplained.isEmpty ? nil : "not reachable, but a socket connects: \(Self.text(unexplained))"
    }

    /// The entry of the tables that matches the packets of a connected socket; `nil` where it is unknown.
    private static func entry(_ socket: (RouteQuery, SocketWitness.Outcome)) -> RouteAnswer? {
        guard case .connects(let source?, _) = socket.1 else { return nil }
        return try? socket.0.lastAnswer(from: source) { (query) throws(ReachabilityError) in
            try KernelRouting().answer(to: query)
        }
    }

    private static func text(_ outcomes: [(RouteQuery, SocketWitness.Outcome)]) -> String {
        outcomes.map { "\($0.0.destination) \($0.1)" }.joined(separator: "; ")
    }

    // MARK: Queries

    /// The queries of the addresses that decided; none where only the library decides.
    private var queries: [RouteQuery] {
        guard let interface = interfaceIndex else { return [] }
        return destinations.filter(isAdmitted).map { destination in
            let zone = (destination.zone ?? source?.zone)?.interfaceIndex ?? 0
            var destination = destination
            if destination.needsZone, zone != 0 { destination.zone = ZoneIdentifier(index: zone) }
            // A zone of an address that needs none is a binding to the interface.
            let bound = interface == 0 && !destination.needsZone && destination.zone != nil ? zone : interface
            var query = RouteQuery(destination: destination, outputInterface: bound)
            query.source = source
            query.mark = options.mark
            query.user = options.user
            return query
        }
    }

    private var destinations: [IPAddress] {
        switch report.target.kind {
        // The hash of each address chooses its nexthop, and all of a few can have one whose packets are refused.
        case .defaultPath where report.reason.code == .someConnections:
            SocketWitness.publicAddresses + (1...30).map { IPAddress(193, 0, 1, $0) }
        case .defaultPath: SocketWitness.publicAddresses
        default: report.findings.map(\.address)
        }
    }

    private var source: IPAddress? {
        if case .pair(let local, _) = report.target.kind { return local }
        return options.sourceAddress
    }

    /// The index of the bound interface, 0 for none; `nil` when there is none of that name.
    private var interfaceIndex: UInt32? {
        guard let interface = options.interface else { return 0 }
        let index = interface.name.map { if_nametoindex($0) } ?? 0
        return index == 0 ? interface.index : index
    }

    /// The families are an option of the library, not of a socket.
    private func isAdmitted(_ address: IPAddress) -> Bool {
        let family = address.unmapped.family
        if let source, source.unmapped.family != family { return false }
        return options.families.contains(family == .v4 ? .v4 : .v6)
    }
}
