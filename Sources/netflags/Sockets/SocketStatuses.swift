// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import RoutingModel
import SystemSupport

/// The status of a socket, or the error that prevented it.
typealias SocketResult = Result<ConnectionStatus, ReachabilityError>

/// Evaluates sockets; sockets that the rules of this host do not distinguish share one evaluation.
///
/// A server has thousands of sockets to the same few addresses. If no rule compares ports, one result is valid for all
/// of these sockets.
struct SocketStatuses {
    /// The greatest number of remembered groups, so that memory does not grow with the number of sockets.
    private static let limit = 4_096

    /// The properties that sockets with the same status have in common.
    private struct Group: Hashable {
        let flow: ConnectedSocket.Flow
        let subflows: [ConnectedSocket.Flow]
    }

    private let source: NetworkSource
    private let dependsOnPorts: Bool
    private var known: [Group: SocketResult] = [:]

    init(_ source: NetworkSource) throws(ReachabilityError) {
        self.source = source
        let rules = try source.facts.routing.answer(.rules { $0 })
        let rulesComparePorts = rules.contains { rule in
            rule.sourcePorts != nil || rule.destinationPorts != nil || rule.hasUnknownSelector
        }
        dependsOnPorts = rulesComparePorts || Self.hashesPorts
    }

    /// Whether the kernel chooses a nexthop of a multipath route by more than the addresses.
    private static var hashesPorts: Bool {
        ["ipv4", "ipv6"].contains { family in
            KernelSetting.isSet("net/\(family)/fib_multipath_hash_policy") == true
        }
    }

    /// The status of each socket, or the error that prevented it.
    mutating func results(of sockets: [ListedSocket]) -> [SocketResult] {
        let groups = sockets.map(group)
        if known.count > Self.limit { known.removeAll(keepingCapacity: true) }
        var results = groups.map { known[$0] }
        var new: [Group: NetworkConnection] = [:]
        let open = results.indices.filter { results[$0] == nil }
        for index in open where new[groups[index]] == nil {
            do {
                new[groups[index]] = try sockets[index].connection()
            } catch {
                known[groups[index]] = .failure(error)
            }
        }
        let (unknown, connections) = (Array(new.keys), Array(new.values))
        let answers = source.blockingValues(of: connections.map { .status(of: $0) })
        for (group, result) in zip(unknown, answers) { known[group] = result }
        for index in open { results[index] = known[groups[index]] }
        return results.compactMap(\.self)
    }

    private func group(_ listed: ListedSocket) -> Group {
        Group(flow: essence(listed), subflows: listed.subflows.map(essence))
    }

    /// The flow of a socket without the members that do not affect its status.
    private func essence(_ listed: ListedSocket) -> ConnectedSocket.Flow {
        var flow = listed.flow
        if !dependsOnPorts { (flow.localPort, flow.remotePort) = (0, 0) }
        return flow
    }
}
