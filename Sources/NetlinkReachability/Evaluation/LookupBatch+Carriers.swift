// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

extension LookupBatch {
    /// Adds the lookups of what carries the tunnels that packets take, once each, when all lookups have ended.
    ///
    /// - Returns: Whether there is one to run.
    mutating func addCarriers(_ interfaces: borrowing BatchInterfaces, _ host: HostListing) -> Bool {
        let known = carriers.count
        for index in firstUnfollowed.lookup..<lookups.count {
            let lookup = lookups[index]
            let found = addCarriers(of: lookup, depth: 0, interfaces, host)
            lookupCarriers[index] = found.places
            if found.lacksPeer { lookups[index].noteSilence() }
        }
        for index in firstUnfollowed.carrier..<known where carriers[index].depth < CarrierLookup.depthLimit {
            let carrier = carriers[index]
            let found = addCarriers(
                of: carrier.lookup, depth: carrier.depth + 1, interfaces, host)
            outerCarriers[index] = found.places
            if found.lacksPeer { carriers[index].lookup.noteSilence() }
        }
        firstUnfollowed = (lookups.count, known)
        return carriers.count > known
    }

    /// Adds the lookups of what carries the tunnels that packets of one lookup take.
    ///
    /// - Returns: The places of these lookups among all carriers, also of those that were there, `nil` for none; and
    ///   whether a WireGuard interface has no peer with an endpoint for the packets, which can change silently.
    private mutating func addCarriers(
        of lookup: CandidateLookup,
        depth: Int,
        _ interfaces: borrowing BatchInterfaces,
        _ host: HostListing
    ) -> (places: [Int]?, lacksPeer: Bool) {
        var found: (places: [Int]?, lacksPeer: Bool) = (nil, false)
        for (packets, answer) in lookup.routes {
            guard case .taken(let match) = answer, match.type.leavesHost else { continue }
            let nexthops = match.nexthops
            guard nexthops.count <= CarrierLookup.nexthopLimit else { continue }
            for nexthop in nexthops {
                let facts = interfaces.facts(aboutInterface: nexthop.interfaceIndex, lookup.detail)
                guard let facts, facts.traits.contains(.isTunnel) else { continue }
                let table = lookup.infersCarriers ? answer.entry?.table : nil
                let exit = Result { () throws(ReachabilityError) in
                    try host.peerExit(of: facts.link, to: packets.destination)
                }
                if case .success(let exit?) = exit, exit.ends == nil { found.lacksPeer = true }
                let entrance = CarrierLookup.Entrance(
                    tunnel: facts.index, mark: packets.mark, detail: lookup.detail, table: table,
                    endpoint: (try? exit.get())?.ends)
                if entrances[entrance] == nil, carriers.count < CarrierLookup.limit {
                    let planned = CarrierLookup.plan(
                        facts.link, under: lookup, packets.mark, answer, exit: exit, depth: depth, host)
                    entrances[entrance] = planned.map { add($0) }
                }
                if let places = entrances[entrance] { found.places = (found.places ?? []) + places }
            }
        }
        return found
    }
}
