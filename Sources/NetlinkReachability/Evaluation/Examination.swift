// SPDX-License-Identifier: Apache-2.0

/// One question from its target to its verdict: which addresses, bound to what, and the best of them.
struct Examination: Sendable {
    let source: NetworkFacts
    let options: ReachabilityOptions

    typealias Subject = ReachabilityRules.Subject
    typealias Judgement = ReachabilityRules.Judgement

    /// What a target comes down to.
    enum Subjects: Sendable {
        /// These addresses, as a socket bound to `local` sees them.
        case these([Subject], local: IPAddress?)
        /// A name without addresses, and why.
        case unresolved(ReachabilityReason)
    }

    /// What is to be done about one subject.
    enum Step: Sendable {
        /// Ask the kernel this, bound to the interface named.
        case ask(RouteQuery, boundInterface: String?)
        /// There is nothing to ask.
        case settled(ReachabilityReason)
    }

    // MARK: Targets

    /// Finds out what a target comes down to; this is where names are resolved.
    func subjects(of target: ReachabilityTarget) throws(ReachabilityError) -> Subjects {
        switch target.kind {
        case .address(let address):
            return .these(admitted(subjects(for: address), from: options.source), local: options.source)
        case .defaultPath:
            return defaultPath
        case .pair(let local, let remote):
            return .these(admitted(subjects(for: remote), from: local), local: local)
        case .host(let name):
            return try subjects(ofName: name)
        }
    }

    /// The default path as the options' socket sees it.
    var defaultPath: Subjects {
        .these(admitted(probes(zone: nil), from: options.source), local: options.source)
    }

    /// What to ask about an address.
    ///
    /// The zero addresses stand for the default path, whoever names them: also a resolver, which many hosts
    /// files make answer with 0.0.0.0.
    private func subjects(for address: IPAddress) -> [Subject] {
        let address = address.unmapped
        return address.isUnspecified ? probes(zone: address.zone) : [.address(address)]
    }

    /// The probes of the default path.
    ///
    /// 0.0.0.0 itself the kernel always calls its own.
    private func probes(zone: ZoneIdentifier?) -> [Subject] {
        [IPAddress(0, 0, 0, 1), .anyV6].map { probe in
            var probe = probe
            probe.zone = zone
            return .defaultPath(probe: probe)
        }
    }

    private func subjects(ofName name: String) throws(ReachabilityError) -> Subjects {
        switch try resolution(of: name) {
        case .addresses(let addresses):
            return .these(admitted(addresses.flatMap(subjects), from: options.source), local: options.source)
        case .notFound:
            return .unresolved(ReachabilityReason(.nameNotFound, name))
        case .failed(let message):
            return .unresolved(ReachabilityReason(.nameNotResolved, name, other: message))
        case .timedOut:
            return .unresolved(ReachabilityReason(.nameTimedOut, name))
        }
    }

    private func resolution(of name: String) throws(ReachabilityError) -> HostResolution {
        do {
            return try source.resolver.resolve(
                name,
                families: options.families,
                timeout: options.resolutionTimeout
            )
        } catch {
            throw ReachabilityError(.resolverFailure, error)
        }
    }

    // MARK: Families

    /// Leaves out the addresses that the options do not want, or that the local address cannot be a source
    /// for: the kernel takes IPv4 bytes as an IPv6 source without a word.
    private func admitted(_ subjects: [Subject], from local: IPAddress?) -> [Subject] {
        if options.families == .all, local == nil { return subjects }
        return subjects.filter { admits($0.destination, from: local) }
    }

    /// Whether the options want an address of this family, and the local address can be its source.
    func admits(_ destination: IPAddress, from local: IPAddress?) -> Bool {
        guard options.admits(destination.family) else { return false }
        return usable(local, for: destination).map { $0.family == destination.family } ?? true
    }

    /// Why no address is left to ask about.
    func nothingAdmitted(from local: IPAddress?) -> ReachabilityReason {
        let wanted: IPAddress.Family =
            switch options.families {
            case .all: local?.unmapped.family ?? .v4
            case .v6: .v6
            default: .v4
            }
        return ReachabilityReason(.excludedFamily, wanted.description)
    }

    // MARK: Addresses

    /// Finds out what to ask about one subject.
    func step(for subject: Subject, from local: IPAddress?) throws(ReachabilityError) -> Step {
        let destination = subject.destination
        var query = RouteQuery(destination: destination.withoutZone, mark: options.mark, user: options.user)
        var bound: Binding?
        if !destination.isLoopback {
            bound = try binding(for: destination, from: local)
            query.outputInterface = bound?.index ?? 0
        }
        if destination.needsZone, bound == nil {
            return .settled(ReachabilityReason(.needsInterface, destination.description))
        }
        if let local = usable(local, for: destination) {
            guard try isOwn(local, bound: bound) else {
                return .settled(ReachabilityReason(.notOwnAddress, local.description))
            }
            query.source = local.withoutZone
        }
        return .ask(query, boundInterface: bound?.name)
    }

    /// A loopback source cannot reach anything but loopback: it is taken for none.
    func usable(_ local: IPAddress?, for destination: IPAddress) -> IPAddress? {
        guard let local = local?.unmapped, !local.isUnspecified else { return nil }
        return local.isLoopback && !destination.isLoopback ? nil : local
    }

    /// Whether an address is one of this host: the kernel accepts foreign IPv6 sources without a word.
    ///
    /// The addresses of a VRF's interfaces lie in the VRF's own table, which only a bound question sees.
    private func isOwn(_ local: IPAddress, bound: Binding?) throws(ReachabilityError) -> Bool {
        if !local.needsZone, try isLocal(local, outputInterface: 0) { return true }
        guard let bound else { return false }
        return try isLocal(local, outputInterface: bound.index)
    }

    private func isLocal(
        _ local: IPAddress,
        outputInterface: UInt32
    ) throws(ReachabilityError) -> Bool {
        let query = RouteQuery(destination: local.withoutZone, outputInterface: outputInterface)
        let outline = try ask { () throws(RoutingFault) in
            try source.routing.lookUp(query, detail: .summary).summary
        }
        return outline.type == .local
    }

    /// Runs a question to the source, and names its failure as the API does.
    func ask<Answer>(_ question: () throws(RoutingFault) -> Answer) throws(ReachabilityError) -> Answer {
        do {
            return try question()
        } catch {
            throw ReachabilityError(error)
        }
    }
}

// MARK: - Bindings

extension Examination {
    /// The interface that a question is bound to.
    struct Binding: Hashable, Sendable {
        var index: UInt32
        var name: String
    }

    /// The interface of the address's zone, else of the options, else of the local address's zone.
    private func binding(
        for destination: IPAddress,
        from local: IPAddress?
    ) throws(ReachabilityError) -> Binding? {
        if let zone = destination.zone { return try binding(zone) }
        if let name = options.interface { return try binding(interface: name) }
        if let zone = local?.zone { return try binding(zone) }
        return nil
    }

    private func binding(_ zone: ZoneIdentifier) throws(ReachabilityError) -> Binding {
        if let name = zone.name { return try binding(interface: name) }
        let index = zone.index ?? 0
        let facts = try ask { () throws(RoutingFault) in
            try source.routing.facts(aboutInterface: index, detail: .flags)
        }
        guard let facts else { throw unknownInterface("no interface has the index \(index)") }
        return Binding(index: index, name: facts.link.name)
    }

    private func binding(interface name: String) throws(ReachabilityError) -> Binding {
        let index = try ask { () throws(RoutingFault) in try source.routing.interfaceIndex(named: name) }
        guard let index else { throw unknownInterface("there is no interface \"\(name)\"") }
        return Binding(index: index, name: name)
    }

    private func unknownInterface(_ what: String) -> ReachabilityError {
        ReachabilityError(
            .unknownInterface,
            operation: "find an interface",
            message: "\(what): give one that `ip link` lists"
        )
    }
}
