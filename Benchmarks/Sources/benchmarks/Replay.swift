// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRecording
import RoutingModel

/// How fast a recording of a router is replayed whose routes come and go, an event a millisecond.
///
/// Nine of ten events are about one of its /24 routes, which goes and comes back. Every hundred-thousandth is the loss
/// of the default route or its return. The same for the same numbers, on every machine.
struct Replay {
    private let prefixes: [UInt32]
    private var isMissing: [Bool]
    private var hasDefault = true
    private var random = Random(seed: 42)

    init(routes: Int) {
        var seen: Set<UInt32> = []
        while seen.count < routes { seen.insert(random.nextAddress() & 0xffff_ff00) }
        prefixes = seen.sorted()
        isMissing = Array(repeating: false, count: routes)
    }

    /// Writes a recording to a file, and measures a replay for a number of targets.
    mutating func run(_ path: String, events: Int, targets count: Int) throws {
        try write(to: path, events: events)
        let addresses = (1..<max(1, count)).map { _ in
            ReachabilityTarget.address(IPAddress(v4: random.nextAddress()))
        }
        let began = Self.processorSeconds
        var replay = try Recording(path: path).replay(
            of: ([.defaultPath] + addresses).map { .report(of: $0) })
        while try replay.next() != nil {}
        let rate = Double(events) / (Self.processorSeconds - began)
        try Row(
            "replay for \(count) targets, of a processor", rate, unit: "events a second", goal: .replayRate
        ).print()
    }

    /// The processor time of this process, in seconds.
    static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    // MARK: The recording

    private mutating func write(to path: String, events: Int) throws {
        var bytes: [UInt8] = []
        func annotate(_ annotation: RecordingAnnotation) { bytes += message(1, 0, annotation.payload) }
        annotate(.origin("Linux 6.18.0 x86_64"))
        annotate(.dumpBegins)
        bytes += time(milliseconds: 0)
        bytes += link(index: 1, name: "lo", flags: 0x1_0049, type: 772)
        bytes += link(index: 2, name: "eth0", flags: 0x1_1043, type: 1)
        // 192.0.2.1/24 on eth0.
        bytes += message(
            20, 2,
            [2, 24, 0x80, 0] + number(UInt32(2)) + attribute(1, [192, 0, 2, 1])
                + attribute(2, [192, 0, 2, 1]))
        bytes += route(0, length: 0, type: 24, flags: 2)
        for prefix in prefixes { bytes += route(prefix, length: 24, type: 24, flags: 2) }
        for (priority, table) in [(0, 255), (32_766, 254), (32_767, 253)] as [(UInt32, UInt8)] {
            bytes += message(
                32, 2,
                [2, 0, 0, 0, table, 0, 0, 1, 0, 0, 0, 0] + attribute(15, number(UInt32(table)))
                    + (priority == 0 ? [] : attribute(6, number(priority))))
        }
        annotate(.wirelessInterfaces([]))
        annotate(.cellularInterfaces([]))
        annotate(.dumpEnds)
        for number in 1...max(1, events) { bytes += time(milliseconds: number) + event(number) }
        var writer = try RecordingWriter(path: path)
        try writer.append(bytes)
        try writer.finish()
    }

    private mutating func event(_ number: Int) -> [UInt8] {
        if number % 100_000 == 0 {
            hasDefault.toggle()
            return route(0, length: 0, type: hasDefault ? 24 : 25, flags: hasDefault ? 0x600 : 0)
        }
        let index = Int(random.next() % UInt64(prefixes.count))
        isMissing[index].toggle()
        let (type, flags): (UInt16, UInt16) = isMissing[index] ? (25, 0) : (24, 0x600)
        return route(prefixes[index], length: 24, type: type, flags: flags)
    }

    private func message(_ type: UInt16, _ flags: UInt16, _ payload: [UInt8]) -> [UInt8] {
        number(UInt32(16 + payload.count)) + number(type) + number(flags) + number(UInt64(0))
            + padded(payload)
    }

    private func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
        number(UInt16(4 + value.count)) + number(type) + padded(value)
    }

    private func padded(_ bytes: [UInt8]) -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    }

    private func number(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value, Array.init)
    }

    /// A time stamp.
    private func time(milliseconds: Int) -> [UInt8] {
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
        return message(15, 0, number(1_700_000_000 + UInt32(seconds)) + number(UInt32(rest) * 1_000))
    }

    /// IFLA_IFNAME, IFLA_MTU, IFLA_OPERSTATE and IFLA_CARRIER behind a `struct ifinfomsg`.
    private func link(index: UInt32, name: String, flags: UInt32, type: UInt16) -> [UInt8] {
        let head: [UInt8] = [0, 0] + number(type) + number(index) + number(flags) + number(UInt32.max)
        let attributes = attribute(3, Array(name.utf8) + [0]) + attribute(4, number(UInt32(1_500)))
        return message(16, 2, head + attributes + attribute(16, [6]) + attribute(33, [1]))
    }

    /// A route of the main table by way of 192.0.2.254, with its attributes in the kernel's order.
    private func route(_ prefix: UInt32, length: UInt8, type: UInt16, flags: UInt16) -> [UInt8] {
        let head: [UInt8] = [2, length, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0]
        let table = attribute(15, number(UInt32(254)))
        let destination = length == 0 ? [] : attribute(1, number(prefix.bigEndian))
        return message(
            type, flags,
            head + table + destination + attribute(5, [192, 0, 2, 254]) + attribute(4, number(UInt32(2))))
    }
}
