// SPDX-License-Identifier: Apache-2.0

import RoutingModel
import TestSupport
import Testing

@testable import NetlinkReachability

/// A table of routes that changes at random, with notifications as the kernel sends them: one for most changes, none
/// for routes that are removed with their interface, and sometimes the queue overflows.
private struct StormyTable {
    private var routes: [IPPrefix: ReachabilityFlags] = [:]
    private var queue: [KernelNotification] = []
    private var hasOverflown = false
    private var random: SeededGenerator
    private let queueLimit: Int
    /// Whether only routes change, so that nothing causes an evaluation of everything.
    private let hasRoutesOnly: Bool

    init(seed: UInt64, queueLimit: Int) {
        hasRoutesOnly = seed % 4 < 2
        random = SeededGenerator(seed: seed)
        self.queueLimit = queueLimit
    }

    /// The longest prefix decides.
    func flags(for address: IPAddress) -> ReachabilityFlags {
        let best = routes.filter { $0.key.contains(address) }.max { $0.key.length < $1.key.length }
        return best?.value ?? []
    }

    mutating func change() {
        switch Int.random(in: (hasRoutesOnly ? 2 : 0)..<20, using: &random) {
        case 0:
            // An interface is removed, and half of its routes without a notification.
            for prefix in routes.keys where Bool.random(using: &random) { routes[prefix] = nil }
            notify(.link(isLoss: true))
        case 1:
            notify(.settings)
        default:
            let number = UInt32.random(in: 0..<64, using: &random)
            let length = [0, 8, 24, 26, 28, 32].randomElement(using: &random) ?? 32
            guard let prefix = IPPrefix(IPAddress(v4: 0x0A00_0000 | number), length: length) else { return }
            let choices: [ReachabilityFlags?] = [nil, [.reachable], [.reachable, .isDirect]]
            routes[prefix] = choices.randomElement(using: &random) ?? nil
            notify(.route(prefix))
        }
    }

    private mutating func notify(_ change: KernelNotification) {
        if queue.count < queueLimit { queue.append(change) } else { hasOverflown = true }
    }

    /// Removes and returns some of the queue, as a slow reader does.
    mutating func take(atMost limit: Int) -> (changes: [KernelNotification], isOverrun: Bool, isEmpty: Bool) {
        let isOverrun = hasOverflown
        hasOverflown = false
        let changes = Array(queue.prefix(limit))
        queue.removeFirst(changes.count)
        return (changes, isOverrun, queue.isEmpty)
    }
}

struct MonitorStormTests {
    private static let targets = Dictionary(
        uniqueKeysWithValues: (1...60).map { (UInt64($0), IPAddress(v4: 0x0A00_0000 | UInt32($0))) }
    )

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `after a storm the last evaluation of every target agrees with the table`(seed: UInt64) {
        var random = SeededGenerator(seed: seed ^ 0xFFFF)
        var table = StormyTable(seed: seed, queueLimit: seed % 2 == 0 ? 8 : 1_000)
        var driver = StateDriver()
        var flags: [UInt64: ReachabilityFlags] = [:]
        for id in Self.targets.keys { driver.state.insert(id, at: driver.now) }
        for _ in 0..<40 {
            // Short storms: in a long one nearly everything is evaluated at the end by chance.
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                driver.now = driver.now + .milliseconds(Int.random(in: 0...60, using: &random))
                for _ in 0..<Int.random(in: 0...12, using: &random) { table.change() }
                Self.turn(&driver, &table, &flags, limit: Int.random(in: 0...10, using: &random))
            }
            Self.calmDown(&driver, &table, &flags)
            for (id, address) in Self.targets {
                #expect(flags[id] == table.flags(for: address))
            }
        }
    }

    /// One turn of the monitor's thread: read, then do what is due.
    private static func turn(
        _ driver: inout StateDriver,
        _ table: inout StormyTable,
        _ flags: inout [UInt64: ReachabilityFlags],
        limit: Int
    ) {
        let (changes, isOverrun, isEmpty) = table.take(atMost: limit)
        if isOverrun { driver.state.overran(at: driver.now) }
        for change in changes { driver.note(change) }
        if isEmpty { driver.state.drained() }
        driver.evaluate = { RouteDependencies(addresses: targets[$0].map { [$0] } ?? []) }
        for id in driver.run() {
            if let address = targets[id] { flags[id] = table.flags(for: address) }
        }
    }

    /// Moves the time without further changes, by less than the routine period.
    private static func calmDown(
        _ driver: inout StateDriver,
        _ table: inout StormyTable,
        _ flags: inout [UInt64: ReachabilityFlags],
        at location: SourceLocation = #_sourceLocation
    ) {
        let start = driver.now
        turn(&driver, &table, &flags, limit: .max)
        for _ in 0..<100 {
            guard let deadline = driver.state.deadline, deadline != driver.state.routineDue else { break }
            driver.now = max(driver.now, deadline)
            turn(&driver, &table, &flags, limit: .max)
        }
        #expect(driver.state.pending.burst == nil, sourceLocation: location)
        #expect(driver.now - start < .seconds(5), sourceLocation: location)
    }
}
