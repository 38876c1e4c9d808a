// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

extension LookupBatch {
    /// Adds the lookups of what carries the tunnels that packets take, once each, when all lookups have ended.
    ///
    /// - Returns: Whether there is one to run.
    mutating func addCarriers(_ interfaces: borrowing BatchInterfaces, _ host: HostListing) -> Bool {
        let known = carriers.count
        for index in firstUnfollowed.lookup..<lookups.count {
            addCarriers(of: lookups[index], lookups[index].query.mark, depth: 0, interfaces, host)
        }
        for index in firstUnfollowed.carrier..<known where carriers[index].depth < CarrierLookup.depthLimit {
            let carrier = carriers[index]
            let mark = carrier.outerPackets.mark
            addCarriers(of: carrier.lookup, mark, depth: carrier.depth + 1, interfaces, host)
        }
        firstUnfollowed = (lookups.count, known)
        return carriers.count > known
    }

    private mutating func addCarriers(
        of lookup: CandidateLookup,
        _ mark: UInt32,
        depth: Int,
        _ interfaces: borrowing BatchInterfaces,
        _ host: HostListing
    ) {
        guard case .answered(_, let answer) = lookup.step else { return }
        let outer = lookup.outer?.value
        let packets = [
            (lookup.query.destination, answer),
            (outer?.destination ?? lookup.query.destination, outer?.answer),
        ]
        for (destination, answer) in packets {
            guard case .taken(let match)? = answer, match.type.leavesHost, let answer else { continue }
            let nexthops = match.nexthops
            guard nexthops.count <= CarrierLookup.nexthopLimit else { continue }
            for nexthop in nexthops {
                guard carriers.count < CarrierLookup.limit else { return }
                let facts = interfaces.facts(aboutInterface: nexthop.interfaceIndex, lookup.detail)
                guard let facts, facts.traits.contains(.isTunnel) else { continue }
                let table = lookup.infersCarriers ? answer.entry?.table : nil
                let exit = Result { () throws(ReachabilityError) in
                    try host.peerExit(of: facts.link, to: destination)
                }
                let entrance = CarrierLookup.Entrance(
                    tunnel: facts.index, mark: mark, detail: lookup.detail, table: table,
                    endpoint: (try? exit.get())?.ends)
                guard entrances.insert(entrance).inserted else { continue }
                let planned = CarrierLookup.plan(
                    facts.link, under: lookup, mark, answer, exit: exit, depth: depth, host)
                for next in planned { add(next) }
            }
        }
    }
}
