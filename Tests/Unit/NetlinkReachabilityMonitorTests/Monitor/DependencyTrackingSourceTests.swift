// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Fakes
import NetlinkReachabilityTestKit
import NetlinkRoute
import RoutingModel
import SystemSupport
import Testing

@testable import NetlinkReachability

private let onLink: ReachabilityFlags = [.reachable, .isDirect]

/// Answers plain questions, and records how they were asked: those about even addresses have a route, those about odd
/// ones have none, and those about addresses that 5 divides have no plain answer.
private final class PlainRouting: RoutingSource {
    struct Asked {
        var together: [[IPAddress]] = []
        var alone: [IPAddress] = []
        var whole: [IPAddress] = []
        var failsTogether = false
    }

    let asked = Locked(Asked())

    private func answer(_ destination: IPAddress) -> PlainAnswer? {
        if destination.low.isMultiple(of: 5) { return nil }
        return destination.low.isMultiple(of: 2)
            ? .route(.unicast, Nexthop(interfaceIndex: 2), []) : .rejected(.noRoute)
    }

    func plainAnswer(about destination: IPAddress) -> PlainAnswer? {
        asked.withLock { $0.alone.append(destination) }
        return answer(destination)
    }

    func plainAnswers(
        about destinations: [IPAddress],
        detail: InterfaceDetail?,
        _ body: (PlainAnswer?, Box<InterfaceFacts>?) -> Void
    ) throws(RoutingFault) {
        let fails = asked.withLock { asked in
            asked.together.append(destinations)
            return asked.failsTogether
        }
        for destination in destinations.prefix(fails ? 3 : .max) { body(answer(destination), nil) }
        if fails { throw RoutingFault(operation: "ask for routes", number: 105) }
    }

    func lookUp(_ query: RouteQuery, detail: LookupDetail) -> RouteLookup {
        asked.withLock { $0.whole.append(query.destination) }
        return RouteLookup(RouteSummary.rejected(.noRoute))
    }

    func facts(aboutInterface index: UInt32, detail: InterfaceDetail) -> InterfaceFacts? { nil }
    func links() -> [Link] { [] }
    func sourceAddresses(for query: RouteQuery, after lookup: RouteLookup) -> [IPAddress] { [] }
    func addresses() -> [InterfaceAddress] { [] }
}

struct DependencyTrackingSourceTests {
    private let routing = PlainRouting()
    private let feeds = SimulatedFeeds()

    private static func address(_ number: Int) -> IPAddress {
        IPAddress(v4: 0x0a00_0000 + UInt32(number))
    }

    /// The flags that the routing stands for.
    private static func flags(_ number: Int) -> ReachabilityFlags {
        number.isMultiple(of: 2) && !number.isMultiple(of: 5) ? onLink : []
    }

    @Test func `answers that were asked for together are taken in order, and noted as dependencies`() throws {
        let tracking = DependencyTrackingSource(routing)
        let addresses = (1...4).map(Self.address)
        tracking.ask(addresses[...])
        for address in addresses {
            let (answer, dependencies) = tracking.observe { try? tracking.plainAnswer(about: address) }
            #expect(answer != nil)
            #expect(dependencies.addresses.all == [address])
        }
        #expect(routing.asked.withLock { $0.together } == [addresses])
        #expect(routing.asked.withLock { $0.alone }.isEmpty)
    }

    @Test func `an address out of turn is asked about alone`() throws {
        let tracking = DependencyTrackingSource(routing)
        tracking.ask([Self.address(1), Self.address(2)])
        #expect(try tracking.plainAnswer(about: Self.address(2)) != nil)
        #expect(routing.asked.withLock { $0.alone } == [Self.address(2)])
    }

    @Test func `IPv6 has no plain answer, because its routes expire`() throws {
        let tracking = DependencyTrackingSource(routing)
        #expect(try tracking.plainAnswer(about: .loopbackV6) == nil)
        #expect(routing.asked.withLock { $0.alone }.isEmpty)
    }

    @Test(arguments: [false, true])
    func `a burst asks 64 questions together, and every target has its own answer`(fails: Bool) async throws {
        let source = NetworkSource(
            routing: routing,
            resolver: ScriptedResolver(),
            clock: ManualMonitorClock(ManualClock()),
            changes: { [feeds] () throws(RoutingFault) in try feeds.open() }
        )
        let handles = try (0..<150).map { number in
            try NetworkReachability(address: Self.address(number), source: source)
        }
        for handle in handles { try handle.start(delivery: .onMonitorThread) { _ in } }
        await source.monitor.settle()
        routing.asked.withLock { $0 = PlainRouting.Asked(failsTogether: fails) }
        feeds.notify([.rule])
        await source.monitor.settle()
        let asked = routing.asked.withLock { $0 }
        #expect(asked.together.map(\.count) == [64, 64, 22])
        #expect(Set(asked.together.joined()).count == 150)
        // Those without a plain answer are asked about as a whole, and those that failed together alone.
        #expect(asked.whole.count == 30)
        #expect(asked.alone.isEmpty == !fails)
        for (number, handle) in handles.enumerated() {
            #expect(handle.currentFlags == Self.flags(number))
            handle.stop()
        }
    }
}
