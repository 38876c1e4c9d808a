// SPDX-License-Identifier: Apache-2.0

import NetlinkRecording
import RoutingModel
import Testing

/// Every answer that a real kernel gave, against the answer worked out from its dumps.
struct SnapshotOracleTests {
    /// The comparable part of an answer.
    struct Outcome: Hashable, CustomStringConvertible {
        var errno: Int32 = 0
        var type = ""
        var ways: Set<Probe.Way> = []
        var destination: IPPrefix?
        var priority: UInt32 = 0

        var description: String {
            errno == 0
                ? "\(type) \(ways.map(\.description).sorted()) \(destination?.description ?? "-") metric \(priority)"
                : "errno \(errno)"
        }
    }

    @Test(arguments: RecordedNetwork.all)
    func `each recorded answer is found again: errno, type, interfaces, gateways, prefix, metric`(
        network: RecordedNetwork
    ) throws {
        let snapshot = try network.snapshot()
        let probes = try network.probes()
        try #expect(probes.count == network.meta().probes)
        for probe in probes {
            let found = try Outcome(snapshot.answer(to: probe.query(in: snapshot)))
            #expect(found == Outcome(probe.fibmatch), "\(probe.target) out of \(probe.oif ?? "any")")
        }
    }

    @Test(arguments: RecordedNetwork.all) func `the nexthop that the kernel chose is one of those found`(
        network: RecordedNetwork
    ) throws {
        let snapshot = try network.snapshot()
        for probe in try network.probes() {
            let isOwn = probe.plain.type == "local" || probe.plain.type == "anycast"
            // Bound IPv4 queries get a made-up answer where there is no entry, and groups no gateway.
            guard probe.fibmatch.errno == 0, !isOwn else { continue }
            let found = try Outcome(snapshot.answer(to: probe.query(in: snapshot)))
            let taken = probe.plain.ways
            let isGroup = probe.plain.type == "multicast" || probe.plain.type == "broadcast"
            #expect(found.type == probe.plain.type)
            if isGroup, probe.target.contains(".") {
                #expect(taken.isSubset(of: found.ways.map { Probe.Way(interface: $0.interface) }))
            } else {
                #expect(taken.isSubset(of: found.ways), "\(probe.target) out of \(probe.oif ?? "any")")
            }
        }
    }

    @Test func `without the recorded neighbours an answer is the kernel's or none`() throws {
        var (count, undecided) = (0, [String: Int]())
        for network in RecordedNetwork.all {
            let snapshot = try network.snapshot(withNeighbours: false)
            for probe in try network.probes() {
                count += 1
                let query = try probe.query(in: snapshot)
                do throws(ReachabilityError) {
                    let answer = try snapshot.answer(to: query)
                    let found = Outcome(answer)
                    let isSame =
                        found.errno == probe.fibmatch.errno && found.type == probe.fibmatch.type ?? ""
                    let interfaces =
                        Set(found.ways.map(\.interface)) == Set(probe.fibmatch.ways.map(\.interface))
                    #expect(
                        isSame && interfaces, "\(network.name) \(probe.target) out of \(probe.oif ?? "any")")
                } catch {
                    #expect(error.code == .undecided)
                    #expect(error.message.hasPrefix("the neighbours were not recorded"))
                    undecided[network.name, default: 0] += 1
                }
            }
        }
        // Only where another way is open should a gateway not answer.
        #expect(count == 7_159)
        #expect(undecided.values.reduce(0, +) == 84, "\(undecided)")
        let scenarios = Set(undecided.keys.map { $0.prefix(2) })
        #expect(scenarios == ["17", "22"])
    }
}

extension Probe {
    /// The query as it was put.
    func query(in snapshot: NetworkSnapshot) throws -> RouteQuery {
        let index = try oif.map { name in
            try #require(snapshot.links.values.first { $0.name == name }?.index)
        }
        return RouteQuery(destination: try #require(IPAddress(target)), outputInterface: index ?? 0)
    }
}

extension SnapshotOracleTests.Outcome {
    init(_ answer: RouteAnswer) {
        switch answer {
        case .rejected(let rejection):
            errno = rejection.rawValue
        case .taken(let match):
            guard let route = match.entry else { return }
            type = route.type.description
            ways = Set(
                route.nexthops.map {
                    Probe.Way(interface: $0.interfaceIndex, gateway: $0.gateway?.description)
                })
            destination = route.destination
            priority = route.priority
        }
    }

    init(_ answer: Probe.Answer) {
        errno = answer.errno
        guard errno == 0 else { return }
        type = answer.type ?? ""
        ways = answer.ways
        destination = answer.dst.flatMap { IPPrefix($0) }
        priority = answer.priority ?? 0
    }
}
