// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRecording
import RoutingModel

/// What two snapshots of one moment do not agree on, a line each.
///
/// It leaves out what no notification has: settings of interfaces, and the lifetimes of routes, which the kernel sets
/// after the notification and extends without one.
struct Differences {
    /// Each starts with `+` for what only the replay has, `-` for what only the dump has.
    private(set) var lines: [String] = []

    init(_ replayed: NetworkSnapshot, _ dumped: NetworkSnapshot) {
        compare(replayed.links.values.map(\.line), dumped.links.values.map(\.line))
        compare(replayed.addresses.map(\.line), dumped.addresses.map(\.line))
        compare(replayed.nexthopObjects.values.map { "\($0)" }, dumped.nexthopObjects.values.map { "\($0)" })
        compare(replayed.rules.map { "\($0)" }, dumped.rules.map { "\($0)" })
        compare(replayed.routes.map(\.line), dumped.routes.map(\.line))
    }

    private mutating func compare(_ replayed: [String], _ dumped: [String]) {
        var counts: [String: Int] = [:]
        for line in replayed { counts[line, default: 0] += 1 }
        for line in dumped { counts[line, default: 0] -= 1 }
        for (line, count) in counts.sorted(by: { $0.key < $1.key }) where count != 0 {
            lines.append((count > 0 ? "+ " : "- ") + line)
        }
    }
}

extension Link {
    fileprivate var line: String {
        let state = "\(operationalState) carrier \(carrier.map(String.init) ?? "?")"
        let place = "kind \(kind) master \(master ?? 0) lower \(lower ?? 0)"
        return "link \(index) \(name) flags \(String(flags.rawValue, radix: 16)) \(state) \(place)"
    }
}

extension InterfaceAddress {
    fileprivate var line: String {
        let state = flags.contains(.tentative) ? " tentative" : ""
        let peer = peer.map { " peer \($0)" } ?? ""
        return
            "address \(address)/\(prefixLength)\(peer) dev \(interfaceIndex) scope \(scope.rawValue)\(state) \(flags.rawValue)"
    }
}

extension Route {
    /// Every attribute, and of the state whether the nexthops work.
    fileprivate var line: String {
        var plain = identity
        for (index, nexthop) in nexthops.enumerated() {
            plain.nexthops[index].flags = nexthop.flags.intersection([.onLink, .dead, .linkDown])
        }
        let nexthops = plain.nexthops.map { "\($0) \($0.encapsulation?.value.description ?? "")" }.sorted()
        plain.nexthops = []
        return "route \(plain) \(nexthops)"
    }
}

extension RecordedScenario {
    /// The change of each notification, and its time in seconds.
    func timedEvents() throws -> [(time: Double, change: NetworkChange)] {
        var timed: [(time: Double, change: NetworkChange)] = []
        var time = 0.0
        forEachMessage(try events()) { message in
            // NLMSG_TSTAMP
            if message.type == 15, message.bytes.count == 24 {
                let seconds = message.bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self)
                let micros = message.bytes.loadUnaligned(fromByteOffset: 20, as: UInt32.self)
                time = Double(seconds) + Double(micros) / 1_000_000
            } else if let change = message.change {
                timed.append((time, change))
            }
        }
        return timed
    }
}
