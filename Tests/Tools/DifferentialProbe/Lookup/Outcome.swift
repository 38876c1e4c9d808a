// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRecording
internal import RoutingModel

/// The part of an answer that the kernel and a snapshot must agree on.
///
/// Left out is what a kernel does not answer the same each time:
/// - the table: while local and main share one tree, either is named;
/// - the prefix and the metric of an IPv6 route over a nexthop object: such routes share what the kernel keeps
///   with the object (`rt6_get_pcpu_route`), and the one that was asked for first is named.
struct Outcome: Hashable, CustomStringConvertible {
    private struct Way: Hashable {
        let interface: UInt32
        let gateway: IPAddress?
    }

    private var errno: Int32 = 0
    private var type: RouteType?
    private var ways: Set<Way> = []
    private var destination: IPPrefix?
    private var priority: UInt32 = 0
    /// The source of a packet to a group.
    private var source: IPAddress?

    /// Describes an answer, of a packet without the prefix, which such an answer does not name.
    init(_ answer: RouteAnswer, isOfPacket: Bool = false) {
        switch answer {
        case .rejected(let rejection):
            errno = rejection.rawValue
        case .taken(let match):
            type = match.entry?.type ?? match.type
            let nexthops = match.entry?.nexthops ?? match.nexthops
            ways = Set(nexthops.map { Way(interface: $0.interfaceIndex, gateway: $0.gateway) })
            source = match.source
            guard !isOfPacket, let route = match.entry,
                route.nexthopID == 0 || route.destination.family == .v4
            else { return }
            destination = route.destination
            priority = route.priority
        }
    }

    /// A query that was refused altogether.
    init(errno: Int32) {
        self.errno = errno
    }

    var description: String {
        guard let type else { return "errno \(errno)" }
        let ways = ways.map { way in
            (way.gateway.map { "via \($0) " } ?? "") + "dev \(way.interface)"
        }
        let prefix = destination.map { " \($0) metric \(priority)" } ?? ""
        return "\(type)\(prefix) \(ways.sorted())" + (source.map { " from \($0)" } ?? "")
    }
}

/// What one side answers to a query.
enum LookupResult: Equatable {
    case decided(Outcome)
    /// The reason why a snapshot does not decide.
    case undecided(String)

    /// Asks one side.
    init(_ source: some RoutingSource, _ query: RouteQuery) {
        do throws(ReachabilityError) {
            // No entry sends a group from a source address; its interface does.
            let isFromOwner =
                query.destination.isIPv4Group && query.source != nil && query.outputInterface == 0
            var query = query
            query.wantsEntry = true
            if isFromOwner { query.selectsNexthop = true }
            let answer = try source.answer(to: query)
            self =
                query.selectsNexthop && answer.hasSeveralNexthops
                ? .undecided("a hash chooses the nexthop")
                : .decided(Outcome(answer, isOfPacket: query.selectsNexthop))
        } catch {
            self =
                error.code == .undecided ? .undecided(error.message) : .decided(Outcome(errno: error.number))
        }
    }

    /// Whether this is one of the answers that are equivalent in the snapshot.
    func isPossible(_ snapshot: NetworkSnapshot, _ query: RouteQuery) -> Bool {
        guard let answers = try? snapshot.possibleAnswers(to: query) else { return false }
        return answers.contains { .decided(Outcome($0)) == self }
    }
}
