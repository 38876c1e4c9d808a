// SPDX-License-Identifier: Apache-2.0

extension ReachabilityRules {
    /// The verdict over one address, with everything behind it.
    package struct Judgement: Hashable, Sendable {
        package var flags: ReachabilityFlags
        package var reason: ReachabilityReason
        /// The kernel's answer behind it; `nil` when it was not asked.
        package var answer: RouteAnswer?
        /// The leg that decided.
        package var nexthop: Nexthop?
        /// The interface of that leg.
        package var facts: InterfaceFacts?

        package init(
            _ flags: ReachabilityFlags,
            _ reason: ReachabilityReason,
            answer: RouteAnswer? = nil,
            nexthop: Nexthop? = nil,
            facts: InterfaceFacts? = nil
        ) {
            self.flags = flags
            self.reason = reason
            self.answer = answer
            self.nexthop = nexthop
            self.facts = facts
        }
    }

    /// The verdict over one address, in words and without the kernel's answer.
    package struct Explanation: Hashable, Sendable {
        package var ruling: Ruling
        package var reason: ReachabilityReason
        /// Whether the entry is of the type whose gateway packets take.
        package var isUnicast: Bool
        /// The interface of the leg that decided.
        package var facts: InterfaceFacts?
    }

    /// Judges the kernel's answer about one subject, and says why.
    ///
    /// - Parameters:
    ///   - lookup: What the kernel answered.
    ///   - subject: What it was asked about.
    ///   - boundInterface: The name of the interface that the question was bound to; `nil` for none.
    ///   - facts: Tells what is known of an interface; `nil` when it is gone.
    /// - Returns: The verdict.
    /// - Throws: Whatever `facts` throws, and nothing else.
    package static func judge<Failure: Error>(
        _ lookup: RouteLookup,
        subject: Subject,
        boundInterface: String? = nil,
        facts: (UInt32) throws(Failure) -> InterfaceFacts?
    ) throws(Failure) -> Judgement {
        let explanation = try explain(
            lookup.summary,
            subject: subject,
            boundInterface: boundInterface,
            facts: facts
        )
        return Judgement(
            explanation.ruling.flags,
            explanation.reason,
            answer: lookup.answer,
            nexthop: explanation.ruling.leg,
            facts: explanation.facts
        )
    }

    /// Judges the outline of an answer as ``judge(_:subject:boundInterface:facts:)`` does the whole.
    package static func explain<Failure: Error>(
        _ outline: RouteSummary,
        subject: Subject,
        boundInterface: String? = nil,
        facts: (UInt32) throws(Failure) -> InterfaceFacts?
    ) throws(Failure) -> Explanation {
        // The interface looked at last: with one leg, as most routes have, it is the one that decides.
        var interface: InterfaceFacts?
        let ruling = try rule(
            on: outline,
            subject: subject,
            isBound: boundInterface != nil
        ) { (index) throws(Failure) in
            interface = try facts(index)
            return interface?.traits
        }
        if interface?.link.index != ruling.leg?.interfaceIndex {
            interface = try ruling.leg.map { (leg) throws(Failure) in try facts(leg.interfaceIndex) } ?? nil
        }
        return Explanation(
            ruling: ruling,
            reason: reason(for: ruling, outline, subject, boundInterface, interface),
            isUnicast: outline.isUnicast,
            facts: interface
        )
    }

    /// Puts names into a ruling.
    private static func reason(
        for ruling: Ruling,
        _ outline: RouteSummary,
        _ subject: Subject,
        _ boundInterface: String?,
        _ facts: InterfaceFacts?
    ) -> ReachabilityReason {
        let interface = facts?.link.name ?? ""
        switch ruling.kind {
        case .noFamily:
            return ReachabilityReason(.noFamily, subject.destination.family.description)
        case .noRouteOutOfInterface:
            return ReachabilityReason(.noRouteOutOfInterface, boundInterface ?? interface)
        case .unusableRoute:
            guard let type = outline.type else { return ReachabilityReason(.unusableRoute) }
            return ReachabilityReason(.unusableRoute, type.description)
        case .lowerInterfaceDown, .lowerNoCarrier:
            return ReachabilityReason(ruling.kind, interface, other: facts?.obstructedLower?.name ?? "")
        case .gateway:
            return ReachabilityReason(.gateway, interface, other: ruling.leg?.gateway?.description ?? "")
        default:
            return ReachabilityReason(ruling.kind, interface)
        }
    }
}

extension RouteSummary {
    fileprivate var isUnicast: Bool { type == .unicast }
}
