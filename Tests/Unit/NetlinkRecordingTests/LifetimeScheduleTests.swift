// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import NetlinkReachability
@testable import NetlinkRecording

struct LifetimeScheduleTests {
    private static let start = ContinuousClock.now

    /// RTM_NEWROUTE of an IPv6 default route.
    private static func route(origin: UInt8, ticks: Int32) -> [UInt8] {
        var bytes: [UInt8] = [0, 0, 0, 0, 24, 0, 0, 0] + Array(repeating: 0, count: 8)
        bytes += [10, 0, 0, 0, 254, origin, 0, 1, 0, 0, 0, 0]
        // RTA_OIF, and `rta_expires` in RTA_CACHEINFO.
        bytes += [8, 0, 4, 0, 2, 0, 0, 0]
        bytes += [36, 0, 12, 0] + Array(repeating: 0, count: 8) + withUnsafeBytes(of: ticks, Array.init)
        bytes += Array(repeating: 0, count: 20)
        bytes[0] = UInt8(bytes.count)
        return bytes
    }

    private static func schedule(_ routes: [UInt8]...) throws -> LifetimeSchedule {
        var schedule = LifetimeSchedule()
        for route in routes {
            try route.withUnsafeBytes { bytes in
                schedule.record(try #require(NetlinkMessage(bytes)), at: start)
            }
        }
        return schedule
    }

    @Test func `a dump is due a second before the first lifetime of a router's routes ends`() throws {
        let schedule = try Self.schedule(
            Self.route(origin: 9, ticks: 180_000), Self.route(origin: 2, ticks: 60_000))
        #expect(schedule.due == Self.start + .seconds(599))
    }

    @Test(arguments: [(3, 60_000), (16, 60_000), (9, 0), (9, -100)] as [(UInt8, Int32)])
    func `a route that no router prolongs, or without a lifetime to come, makes no dump due`(
        origin: UInt8, ticks: Int32
    ) throws {
        #expect(try Self.schedule(Self.route(origin: origin, ticks: ticks)).due == nil)
    }

    @Test func `a dump forgets the lifetimes of before`() throws {
        var schedule = try Self.schedule(Self.route(origin: 9, ticks: 1_000))
        schedule.forget()
        #expect(schedule.due == nil)
    }

    @Test func `dumps have so many bytes a second at most`() throws {
        var schedule = try Self.schedule(Self.route(origin: 9, ticks: 500))
        schedule.dumpEnded(bytes: 163_840, at: Self.start)
        #expect(schedule.due == Self.start + .seconds(11))
    }
}
