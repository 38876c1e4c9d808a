// SPDX-License-Identifier: Apache-2.0

import Fakes
import RoutingModel

@testable import NetlinkReachability

/// A source of facts for the tests of a function of what is known: each round shows what is missing.
struct ScriptedAnswers: RoutingSource {
    /// The answers about a packet, for the entry of the tables and for the packet, by its source.
    var bySource: [IPAddress?: RoutingResult] = [:]
    /// The nexthops that the kernel chooses for a packet, by its source, where they are not those of the entry.
    var choices: [IPAddress?: RoutingResult] = [:]
    /// How it chooses them.
    var policy: MultipathHashPolicy?
    /// The answers about packets out of an interface, which come before the others.
    var byInterface: [UInt32: RoutingResult] = [:]
    /// The answers about packets to a destination, which come before those by their source.
    var byDestination: [IPAddress: RoutingResult] = [:]
    /// The source addresses that the kernel can select.
    var sources: [IPAddress] = []
    /// The interfaces that exist.
    var interfaces: [Link] = [Link(index: 2, name: "eth2"), Link(index: 3, name: "eth3")]
    /// The addresses of the host.
    var own: [InterfaceAddress] = []
    /// What shows whether anything has answered.
    var record: AnswerRecord?
    /// The answers about packets that arrive, which come before the others.
    var arriving: RoutingResult?
    /// The settings of the interfaces, and those of all.
    var settings = InputSettings(own: .initial, all: .initial)
    /// The policy rules.
    var policyRules: [Rule] = []
    /// The routes of all tables.
    var routes: [Route] = []

    /// What a round of an evaluation shows.
    enum Step<Value> {
        case missing([String])
        case value(Result<Value, ReachabilityError>)
    }

    func answer(_ lookups: inout [RouteLookup], from first: Int) -> [InterfaceReading] {
        lookups.answer(from: first) { (query) throws(ReachabilityError) in
            if query.inputInterface != 0, let arriving { return try arriving.get() }
            if let bound = byInterface[query.outputInterface] { return try bound.get() }
            if query.selectsNexthop, let choice = choices[query.source] { return try choice.get() }
            let answer = byDestination[query.destination] ?? bySource[query.source]
            return try (answer ?? .success(.rejected(.noRoute))).get()
        }
        return []
    }

    func answer<Answer>(_ query: HostQuery<Answer>) -> Answer {
        switch query {
        case .interface(let index, _, let give):
            give(interfaces.first { $0.index == index }.map { InterfaceFacts(link: $0) })
        case .links(let give): give(interfaces)
        case .interfaceIndex(let name, let give): give(interfaces.first { $0.isNamed(name) }?.index)
        case .multipathHashPolicy(_, let give): give(policy)
        case .rules(let give): give(policyRules)
        case .inputSettings(let index, let give):
            give(interfaces.contains { $0.index == index } ? settings : nil)
        case .routes(let query, let give):
            give(routes.filter { $0.table == query.table && $0.destination.contains(query.address) })
        case .sourceAddresses(_, let give): give(sources)
        case .addresses(let give): give(own)
        case .answerRecord(let give): give(record)
        default: query.unknown
        }
    }

    var facts: NetworkFacts {
        NetworkFacts(
            routing: self, resolver: ScriptedResolver(), nameservers: { nil }, addressPolicy: { .standard })
    }

    /// Calls a function until nothing is missing, at most ten times.
    func walk<Value>(_ body: (inout Known) throws(Interruption) -> Value) -> [Step<Value>] {
        let facts = facts
        var known = Known()
        var steps: [Step<Value>] = []
        while steps.count < 10 {
            known.resume()
            if let result = known.attempt(body) { return steps + [.value(result)] }
            steps.append(.missing(known.missing))
            guard known.ask(facts) else { break }
        }
        return steps
    }
}
