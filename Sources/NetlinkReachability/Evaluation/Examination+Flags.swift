// SPDX-License-Identifier: Apache-2.0

extension Examination {
    /// Finds a target's flags, and nothing else: an address costs one question to the kernel.
    func flags(of target: ReachabilityTarget) throws(ReachabilityError) -> ReachabilityFlags {
        // The common case, without an array of one.
        if case .address(let address) = target.kind, !address.unmapped.isUnspecified,
            admits(address.unmapped, from: options.source)
        {
            return try flags(of: .address(address.unmapped), from: options.source)
        }
        switch try subjects(of: target) {
        case .these(let subjects, let local):
            return try flags(of: subjects, from: local)
        case .unresolved:
            // Where a connection has to be made first, the resolver's silence says nothing about the name.
            guard case .these(let probes, let local) = defaultPath else { return [] }
            let path = try flags(of: probes, from: local)
            return path.contains(.connectionRequired) ? path : []
        }
    }

    /// The first with the highest rank gives the flags whole; those behind a full rank are not asked about.
    ///
    /// An address that cannot be asked about does not hide one that can be reached.
    private func flags(of subjects: [Subject], from local: IPAddress?) throws(ReachabilityError)
        -> ReachabilityFlags
    {
        var best: ReachabilityFlags = []
        var trouble: ReachabilityError?
        for subject in subjects {
            do {
                let next = try flags(of: subject, from: local)
                if next.rank > best.rank { best = next }
                if next.rank == 2 { return best }
            } catch {
                trouble = trouble ?? error
            }
        }
        if let trouble { throw trouble }
        return best
    }

    private func flags(of subject: Subject, from local: IPAddress?) throws(ReachabilityError)
        -> ReachabilityFlags
    {
        guard case .ask(let query, let boundInterface) = try step(for: subject, from: local) else {
            return []
        }
        do {
            var ruling = try rule(on: query, subject, isBound: boundInterface != nil)
            // The interface went away between the two questions: the route has too, so ask once more.
            if ruling.kind == .interfaceGone {
                ruling = try rule(on: query, subject, isBound: boundInterface != nil)
            }
            return ruling.flags
        } catch {
            throw ReachabilityError(error)
        }
    }

    private func rule(
        on query: RouteQuery,
        _ subject: Subject,
        isBound: Bool
    ) throws(RoutingFault) -> ReachabilityRules.Ruling {
        try ReachabilityRules.rule(
            on: source.routing.lookUp(query, detail: .summary).bound(toInterface: query.outputInterface)
                .summary,
            subject: subject,
            isBound: isBound
        ) { (index) throws(RoutingFault) in
            try source.routing.facts(aboutInterface: index, detail: .flags)?.traits
        }
    }
}
