// SPDX-License-Identifier: Apache-2.0

extension Examination {
    /// Makes a brief report on an address from the outline of its route; `nil` for targets that have to be judged
    /// at length, because they can come down to more than one address.
    ///
    /// Whoever asks about addresses by the thousand asks this way: nothing large is copied or allocated.
    func briefReport(on target: ReachabilityTarget) throws(ReachabilityError) -> ReachabilityReport? {
        guard case .address(let address) = target.kind, !address.unmapped.isUnspecified,
            admits(address.unmapped, from: options.source)
        else { return nil }
        let subject = Subject.address(address.unmapped)
        switch try step(for: subject, from: options.source) {
        case .settled(let reason):
            return ReachabilityReport(brief: target, flags: [], reason, about: address.unmapped)
        case .ask(let query, let boundInterface):
            var explanation = try explain(query, subject, boundInterface)
            // The interface went away between the two questions: the route has too, so ask once more.
            if explanation.reason.kind == .interfaceGone {
                explanation = try explain(query, subject, boundInterface)
            }
            return ReachabilityReport(
                brief: target,
                flags: explanation.ruling.flags,
                explanation.reason,
                about: address.unmapped,
                interface: explanation.facts.map(NetworkInterface.init),
                gateway: explanation.gateway
            )
        }
    }

    private func explain(
        _ query: RouteQuery,
        _ subject: Subject,
        _ boundInterface: String?
    ) throws(ReachabilityError) -> ReachabilityRules.Explanation {
        try ask { () throws(RoutingFault) in
            let outline = try source.routing.lookUp(query, detail: .summary)
                .bound(toInterface: query.outputInterface).summary
            return try ReachabilityRules.explain(outline, subject: subject, boundInterface: boundInterface) {
                (index) throws(RoutingFault) in
                try source.routing.facts(aboutInterface: index, detail: .report)
            }
        }
    }
}

extension ReachabilityRules.Explanation {
    /// The gateway of a unicast route; entries of other types can name one that packets do not take.
    fileprivate var gateway: IPAddress? {
        isUnicast ? ruling.leg?.gateway : nil
    }
}

extension ReachabilityReport {
    fileprivate init(
        brief target: ReachabilityTarget,
        flags: ReachabilityFlags,
        _ reason: ReachabilityReason,
        about address: IPAddress,
        interface: NetworkInterface? = nil,
        gateway: IPAddress? = nil
    ) {
        self.init(
            target: target,
            flags: flags,
            reason: reason,
            address: address,
            interface: interface,
            gateway: gateway
        )
    }
}
