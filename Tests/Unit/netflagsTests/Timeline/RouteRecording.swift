// SPDX-License-Identifier: Apache-2.0

@testable import NetlinkRecording

/// The bytes of a recording of eth0 with 192.0.2.7/24, and a default route that comes and goes.
enum RouteRecording {
    /// What a file begins with.
    static func head(_ clock: ClockReading) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(.origin("Linux 6.1.0 x86_64"))
        bytes.append(.clock(clock))
        return bytes
    }

    static func stamp(_ clock: ClockReading) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendTimeStamp(clock.time)
        return bytes
    }

    static func dump(_ clock: ClockReading, hasRoute: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(.dumpBegins)
        bytes += stamp(clock)
        var link = MessageWriter(
            16, flags: 2,
            [0, 0] + MessageWriter.number(UInt16(1)) + MessageWriter.number(UInt32(2))
                + MessageWriter.number(UInt32(0x1_1043)) + MessageWriter.number(UInt32(0)))
        link.add(3, Array("eth0".utf8) + [0])
        link.add(16, [6])
        link.add(33, [1])
        link.add(4, UInt32(1_500))
        var address = MessageWriter(20, flags: 2, [2, 24, 0x80, 0] + MessageWriter.number(UInt32(2)))
        address.add(1, [192, 0, 2, 7])
        address.add(2, [192, 0, 2, 7])
        var network = MessageWriter(
            24, flags: 2, [2, 24, 0, 0, 254, 2, 253, 1] + MessageWriter.number(UInt32(0)))
        network.add(1, [192, 0, 2, 0])
        network.add(4, UInt32(2))
        for message in [link, address, network] { bytes.append(padded: message.bytes) }
        if hasRoute { bytes.append(padded: route(24, flags: 2)) }
        for (family, priority, table) in [(2, 0, 255), (2, 32_766, 254), (10, 0, 255), (10, 32_766, 254)] {
            let header: [UInt8] = [UInt8(family), 0, 0, 0, UInt8(table), 0, 0, 1, 0, 0, 0, 0]
            var rule = MessageWriter(32, flags: 2, header)
            rule.add(6, UInt32(priority))
            rule.add(15, UInt32(table))
            bytes.append(padded: rule.bytes)
        }
        bytes.append(.dumpEnds)
        return bytes
    }

    /// The notification that the route has come, or has gone.
    static func change(_ clock: ClockReading, hasRoute: Bool) -> [UInt8] {
        stamp(clock) + route(hasRoute ? 24 : 25, flags: 0)
    }

    /// The notification that another gateway, 192.0.2.9, has replaced that of the route.
    static func failover(_ clock: ClockReading) -> [UInt8] {
        stamp(clock) + route(24, flags: 0x100, gateway: 9)
    }

    /// A recording in which the route is gone for a second, so often.
    static func losses(_ count: Int) -> [UInt8] {
        var clock = ClockReading(boot: 5, sinceBoot: 1_000_000, sinceEpoch: 1_800_000_000_000_000)
        var bytes = head(clock) + dump(clock, hasRoute: true)
        for number in 0..<2 * count {
            clock.sinceBoot += number % 2 == 0 ? 2_000_000 : 1_000_000
            clock.sinceEpoch += number % 2 == 0 ? 2_000_000 : 1_000_000
            bytes += change(clock, hasRoute: number % 2 == 1)
        }
        return bytes
    }

    /// A recording in which the route goes, comes and goes within some milliseconds, and is back after two seconds.
    static func flap(of milliseconds: [Int64]) -> [UInt8] {
        let begin = ClockReading(boot: 5, sinceBoot: 1_000_000, sinceEpoch: 1_800_000_000_000_000)
        var bytes = head(begin) + dump(begin, hasRoute: true)
        for (number, offset) in (milliseconds + [2_000, 4_000]).enumerated() {
            var clock = begin
            clock.sinceBoot += 2_000_000 + offset * 1_000
            clock.sinceEpoch += 2_000_000 + offset * 1_000
            bytes += change(clock, hasRoute: number % 2 == 1)
        }
        return bytes
    }

    private static func route(_ type: UInt16, flags: UInt16, gateway: UInt8 = 1) -> [UInt8] {
        var route = MessageWriter(
            type, flags: flags, [2, 0, 0, 0, 254, 3, 0, 1] + MessageWriter.number(UInt32(0)))
        route.add(4, UInt32(2))
        route.add(5, [192, 0, 2, gateway])
        return route.bytes
    }
}

extension [UInt8] {
    fileprivate mutating func append(padded message: [UInt8]) {
        message.withUnsafeBytes { appendPadded($0) }
    }
}
