// SPDX-License-Identifier: Apache-2.0

import TestSupport

/// A recording whose bytes are valid and whose tables no kernel has.
///
/// Interfaces lie on each other in circles, chains and stars, groups of nexthops contain themselves, rules go to rules
/// that are not there, prefixes have many routes, names are not UTF-8, and the clock jumps.
struct HostileRecording {
    /// The messages of the dump and of the notifications after it; a notification has no NLM_F_MULTI.
    var messages: [[UInt8]] = []

    private static let multi: UInt16 = 2

    /// The file.
    var bytes: [UInt8] {
        let isPart: ([UInt8]) -> Bool = { $0[6] & UInt8(Self.multi) != 0 }
        var file = MessageWriter.annotation(1, Array("Linux 6.1.0 x86_64".utf8))
        file += MessageWriter.annotation(2) + MessageWriter.time(1_700_000_000)
        file += messages.filter(isPart).joined() + MessageWriter.annotation(3)
        file += messages.filter { !isPart($0) }.joined() + MessageWriter.annotation(10)
        return file
    }

    /// Draws a recording.
    init(seed: UInt64) {
        var draw = Draw(random: SeededGenerator(seed: seed), flags: Self.multi)
        let shape = draw.below(6)
        let size = UInt32(draw.once(in: 40) ? 120 : 3 + draw.below(10))
        draw.count = size
        messages.append(draw.link(1, shape))
        for index in 2...(size + 1) { messages.append(draw.link(draw.once(in: 30) ? 2 : index, shape)) }
        for _ in 0..<draw.below(12) { messages.append(draw.address()) }
        for _ in 0..<draw.below(6) { messages.append(draw.nexthop()) }
        let longChain = draw.once(in: 20) ? 100 : 0
        for _ in 0..<(longChain + draw.below(24)) { messages.append(draw.route()) }
        for _ in 0..<draw.below(6) { messages.append(draw.neighbour()) }
        if !draw.once(in: 20) {
            for (family, priority, table) in [(2, 0, 255), (2, 32_766, 254), (10, 0, 255), (10, 32_766, 254)]
            {
                messages.append(draw.rule(UInt8(family), UInt32(priority), UInt32(table)))
            }
        }
        for _ in 0..<draw.below(8) { messages.append(draw.rule()) }
        if draw.once(in: 2) { messages.append(draw.evidence()) }
        draw.flags = 0
        for _ in 0..<draw.below(10) { messages.append(draw.event(shape)) }
    }

    /// Draws a recording of tunnels whose outer packets can take any of them.
    init(tunnels: UInt32) {
        var nexthops: [UInt8] = []
        for index in 2...(tunnels + 1) {
            var header: [UInt8] = [0, 0] + MessageWriter.number(UInt16(778)) + MessageWriter.number(index)
            header += MessageWriter.number(UInt32(0x1_00c1)) + MessageWriter.number(UInt32(0))
            var link = MessageWriter(16, flags: Self.multi, header)
            link.add(3, Array("g\(index)".utf8) + [0])
            link.add(16, [0])
            link.add(4, UInt32(1_400))
            let remote = [198, 18, UInt8(index >> 8), UInt8(truncatingIfNeeded: index)]
            let info = MessageWriter.attribute(1, Array("gre".utf8) + [0])
            link.add(18, info + MessageWriter.attribute(2, MessageWriter.attribute(7, remote)))
            messages.append(link.bytes)
            nexthops += MessageWriter.number(UInt16(8)) + [0, 0] + MessageWriter.number(index)
        }
        var address = MessageWriter(
            20, flags: Self.multi, [2, 32, 0x80, 0] + MessageWriter.number(UInt32(2)))
        for type in 1...2 as ClosedRange<UInt16> { address.add(type, [10, 0, 0, 1]) }
        messages.append(address.bytes)
        var route = MessageWriter(
            24, flags: Self.multi, [2, 0, 0, 0, 254, 3, 0, 1] + MessageWriter.number(UInt32(0)))
        route.add(15, 254)
        route.add(9, nexthops)
        messages.append(route.bytes)
        for (priority, table) in [(0, 255), (32_766, 254)] as [(UInt32, UInt32)] {
            var draw = Draw(random: SeededGenerator(seed: 0), flags: Self.multi)
            messages.append(draw.rule(2, priority, table))
        }
    }

    /// A recording of these messages.
    init(_ messages: [[UInt8]]) {
        self.messages = messages
    }
}

/// Random messages.
private struct Draw {
    var random: SeededGenerator
    /// The flags of the messages.
    var flags: UInt16
    /// How many interfaces there are.
    var count: UInt32 = 0
    private var time: UInt32 = 1_700_000_000

    init(random: SeededGenerator, flags: UInt16) {
        (self.random, self.flags) = (random, flags)
    }

    mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
    mutating func once(in times: Int) -> Bool { below(times) == 0 }
    mutating func index() -> UInt32 {
        once(in: 25) ? random.pick([0, 999, .max]) : 1 + UInt32(below(Int(count) + 1))
    }

    // MARK: Interfaces

    mutating func link(_ index: UInt32, _ shape: Int, isRemoved: Bool = false) -> [UInt8] {
        let up: UInt32 = once(in: 5) ? 0x1002 : 0x1_1043
        let type: UInt16 = index == 1 ? 772 : random.pick([1, 1, 1, 512, 65_534])
        var header: [UInt8] = [0, 0] + MessageWriter.number(type) + MessageWriter.number(index)
        header += MessageWriter.number(index == 1 ? 0x49 : up) + MessageWriter.number(UInt32(0))
        var message = MessageWriter(isRemoved ? 17 : 16, flags: flags, header)
        message.add(3, name(index))
        message.add(16, [random.pick([0, 2, 5, 6, 6, 6, 250])])
        if once(in: 2) { message.add(33, [UInt8(below(2))]) }
        message.add(4, UInt32(1_500))
        guard index > 1 else { return message.bytes }
        let (lower, master) = above(index, shape)
        if let lower { message.add(5, lower) }
        if let master { message.add(10, master) }
        let kind = random.pick([
            "vlan", "vlan", "vlan", "bridge", "veth", "vrf", "bond", "macvlan", "dummy", "ppp", "",
        ])
        var info = kind.isEmpty ? [] : MessageWriter.attribute(1, Array(kind.utf8) + [0])
        if kind == "vrf" {
            let table = MessageWriter.attribute(
                1, MessageWriter.number(random.pick([0, 100, 254, 255] as [UInt32])))
            info += MessageWriter.attribute(2, table)
        }
        if master != nil {
            info += MessageWriter.attribute(4, Array(random.pick(["vrf", "bridge", "bond"]).utf8) + [0])
        }
        if !info.isEmpty { message.add(18, info) }
        return message.bytes
    }

    /// The interface below another one, and its master, by the shape of the whole.
    private mutating func above(_ index: UInt32, _ shape: Int) -> (lower: UInt32?, master: UInt32?) {
        switch shape {
        case 0: return (index - 1, once(in: 4) ? self.index() : nil)
        case 1: return (index > count ? 2 : index + 1, nil)
        case 2: return (2, once(in: 2) ? 3 : nil)
        case 3: return (once(in: 2) ? index : nil, index > count ? 2 : index + 1)
        case 4: return (nil, 2)
        default: return (once(in: 2) ? self.index() : nil, once(in: 2) ? self.index() : nil)
        }
    }

    private mutating func name(_ index: UInt32) -> [UInt8] {
        switch below(12) {
        case 0: return Array("e2".utf8) + [0]
        case 1: return [0xff, 0xfe, UInt8(truncatingIfNeeded: index) | 0x80, 0x1b, 0]
        case 2: return [0]
        default: return Array("e\(index)".utf8) + [0]
        }
    }

    // MARK: Addresses and neighbours

    private mutating func bytes(_ isIPv6: Bool) -> [UInt8] {
        if isIPv6 {
            let start: [UInt8] = random.pick([
                [0x20, 1, 0xd, 0xb8], [0xfe, 0x80, 0, 0], [0xff, 2, 0, 0], [0, 0, 0, 0],
            ])
            return start + [UInt8](repeating: 0, count: 11) + [UInt8(below(4))]
        }
        let networks: [[UInt8]] = [
            [10, 0, 0], [10, 0, 1], [198, 51, 100], [127, 0, 0], [224, 0, 0], [0, 0, 0],
        ]
        return random.pick(networks) + [UInt8(below(4))]
    }

    mutating func address(isRemoved: Bool = false) -> [UInt8] {
        let isIPv6 = once(in: 3)
        let length = UInt8(isIPv6 ? random.pick([0, 64, 127, 128]) : random.pick([0, 8, 24, 31, 32]))
        let header = [
            isIPv6 ? 10 : 2, length, UInt8(random.pick([0, 1, 0x80, 0x40])), random.pick([0, 253, 254]),
        ]
        var message = MessageWriter(isRemoved ? 21 : 20, flags: flags, header + MessageWriter.number(index()))
        let own = bytes(isIPv6)
        message.add(1, once(in: 5) ? bytes(isIPv6) : own)
        message.add(2, own)
        message.add(8, UInt32(random.pick([0x80, 0x280, 0x81])))
        let forever = UInt32.max
        let lifetimes: [UInt32] = random.pick([[forever, forever], [0, 0], [1, forever], [forever, 1]])
        message.add(6, (lifetimes + [random.pick([0, 5, forever]), 9]).flatMap(MessageWriter.number))
        return message.bytes
    }

    mutating func neighbour() -> [UInt8] {
        let isIPv6 = once(in: 2)
        var header: [UInt8] = [isIPv6 ? 10 : 2, 0, 0, 0] + MessageWriter.number(index())
        header += MessageWriter.number(random.pick([1, 2, 4, 0x20, 0x80] as [UInt16])) + [0, 1]
        var message = MessageWriter(28, flags: flags, header)
        message.add(1, bytes(isIPv6))
        return message.bytes
    }

    // MARK: Nexthops and routes

    mutating func nexthop(isRemoved: Bool = false) -> [UInt8] {
        let isIPv6 = once(in: 2)
        var message = MessageWriter(
            isRemoved ? 105 : 104, flags: flags, [isIPv6 ? 10 : 2, 0, 3, 0, 0, 0, 0, 0])
        message.add(1, UInt32(1 + below(5)))
        switch below(5) {
        case 0, 1:
            var members: [UInt8] = []
            for _ in 0...below(4) {
                members += MessageWriter.number(UInt32(below(6)))
                members += [UInt8(below(3)), 0, 0, 0] as [UInt8]
            }
            message.add(2, members)
        case 2: message.add(4, [])
        default:
            message.add(5, index())
            if once(in: 2) { message.add(6, bytes(isIPv6)) }
        }
        return message.bytes
    }

    mutating func route(isRemoved: Bool = false) -> [UInt8] {
        let isIPv6 = once(in: 3)
        let length = random.pick(isIPv6 ? [0, 0, 3, 32, 64, 128] : [0, 0, 8, 24, 24, 32])
        let table: UInt32 = random.pick([254, 254, 254, 255, 100, 0])
        let type = UInt8(random.pick([1, 1, 1, 1, 2, 3, 6, 7, 9, 0, 200]))
        let header: [UInt8] = [
            isIPv6 ? 10 : 2, UInt8(length), isIPv6 && once(in: 6) ? 32 : 0, random.pick([0, 0, 0, 8, 255]),
            UInt8(table), random.pick([2, 3, 4, 9]), random.pick([0, 253, 254]), type,
        ]
        let state: UInt32 = random.pick([0, 0, 0, 1, 0x10, 0x11, .max & ~0x200])
        var message = MessageWriter(
            isRemoved ? 25 : 24, flags: flags | random.pick([0, 0x100, 0x400, 0x800]),
            header + MessageWriter.number(state))
        message.add(15, table)
        if length > 0 { message.add(1, bytes(isIPv6)) }
        if header[2] > 0 { message.add(2, bytes(isIPv6)) }
        message.add(6, UInt32(random.pick([0, 0, 1, 1_024, Int(UInt32.max)])))
        switch below(8) {
        case 0: message.add(30, UInt32(below(7)))
        case 1:
            var nexthops: [UInt8] = []
            for _ in 0...below(4) {
                let gateway = MessageWriter.attribute(5, bytes(isIPv6))
                nexthops += MessageWriter.number(UInt16(8 + gateway.count))
                nexthops += [random.pick([0, 1, 0x10]), UInt8(below(3))] as [UInt8]
                nexthops += MessageWriter.number(index()) + gateway
            }
            message.add(9, nexthops)
        default:
            if !once(in: 6) { message.add(4, index()) }
            if once(in: 2) { message.add(5, bytes(isIPv6)) }
        }
        if once(in: 5) { message.add(7, bytes(isIPv6)) }
        if once(in: 8) {
            let expires = MessageWriter.number(random.pick([0, 1, -1, Int32.max, Int32.min]))
            message.add(12, [UInt8](repeating: 0, count: 8) + expires + [UInt8](repeating: 0, count: 20))
        }
        return message.bytes
    }

    // MARK: Rules

    mutating func rule(_ family: UInt8, _ priority: UInt32, _ table: UInt32) -> [UInt8] {
        var message = MessageWriter(
            32, flags: flags, [family, 0, 0, 0, UInt8(table), 0, 0, 1] + MessageWriter.number(UInt32(0)))
        message.add(6, priority)
        message.add(15, table)
        return message.bytes
    }

    mutating func rule(isRemoved: Bool = false) -> [UInt8] {
        let isIPv6 = once(in: 2)
        let length = random.pick(isIPv6 ? [0, 64, 128] : [0, 8, 32])
        let action = UInt8(random.pick([1, 1, 1, 2, 2, 3, 6, 7, 8, 0, 77]))
        let table: UInt32 = random.pick([254, 255, 100, 0])
        let header: [UInt8] = [isIPv6 ? 10 : 2, 0, UInt8(length), 0, UInt8(table), 0, 0, action]
        var message = MessageWriter(
            isRemoved ? 33 : 32, flags: flags,
            header + MessageWriter.number(random.pick([0, 2, 1] as [UInt32])))
        let priorities: [UInt32] = [0, 5, 10, 20, 32_766, .max]
        message.add(6, random.pick(priorities))
        message.add(15, table)
        if length > 0 { message.add(2, bytes(isIPv6)) }
        if action == 2 { message.add(4, random.pick(priorities)) }
        if once(in: 4) { message.add(14, UInt32(below(40))) }
        if once(in: 4) { message.add(13, UInt32(below(3))) }
        if once(in: 6) { message.add(19, [1]) }
        if once(in: 6) { message.add(17, Array("e2".utf8) + [0]) }
        return message.bytes
    }

    // MARK: Notifications

    /// Whether anything answers, on a path that need not be there.
    mutating func evidence() -> [UInt8] {
        let isIPv6 = once(in: 3)
        var body = [UInt8(below(9)), UInt8(below(4)), random.pick([isIPv6 ? 10 : 2, 0, 77]), 0]
        body += MessageWriter.number(index())
        for _ in 0..<4 { body += MessageWriter.number(random.pick([0, 3, .max] as [UInt32])) }
        for _ in 0..<2 {
            body += MessageWriter.number(random.pick([0, 4_100, 1 << 42, 1 << 43, .max] as [UInt64]))
        }
        body += bytes(isIPv6) + [UInt8](repeating: 0, count: isIPv6 ? 0 : 12)
        var message = MessageWriter.annotation(20, once(in: 10) ? Array(body.prefix(below(56))) : body)
        message[6] |= UInt8(flags)
        return message
    }

    mutating func event(_ shape: Int) -> [UInt8] {
        switch below(13) {
        case 0, 1: return link(1 + UInt32(below(Int(count) + 1)), shape)
        case 2: return link(1 + UInt32(below(Int(count) + 1)), shape, isRemoved: true)
        case 3: return address(isRemoved: once(in: 2))
        case 4: return nexthop(isRemoved: once(in: 2))
        case 5, 6, 7: return route(isRemoved: once(in: 2))
        case 8: return rule(isRemoved: once(in: 2))
        case 9: return evidence()
        default:
            time = random.pick([time &+ 1, time &+ 100_000, time &- 50, 0, .max, time])
            return MessageWriter.time(time)
        }
    }
}
