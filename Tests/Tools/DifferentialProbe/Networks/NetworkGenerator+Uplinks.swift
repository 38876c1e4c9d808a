// SPDX-License-Identifier: Apache-2.0

internal import TestSupport

extension NetworkGenerator {
    /// In one of eight networks, two uplinks as many hosts have them: a default route over both or one of them, a
    /// table for each with a rule for the packets that have its address, and sometimes a lost carrier.
    ///
    /// Drawn separately, so that the other networks of known seeds stay the same.
    static func uplinks(seed: UInt64) -> [Command] {
        var random = SeededGenerator(seed: seed ^ 0x7570_6c69)
        guard random.once(in: 8) else { return [] }
        var commands: [Command] = []
        for number in 0..<2 {
            commands += [
                .ip("route add default via 10.0.\(number).1 dev v\(number) table 70\(number)"),
                .ip("rule add pref 4\(number) from 10.0.\(number).2 lookup 70\(number)"),
            ]
        }
        let weight = random.pick([1, 3])
        let nexthops = ["nexthop via 10.0.0.1 dev v0", "nexthop via 10.0.1.1 dev v1 weight \(weight)"]
        let main = random.below(2) == 0 ? nexthops : [random.pick(nexthops)]
        commands.append(.ip("route add default \(main.joined(separator: " "))"))
        if random.once(in: 2) { commands.append(.ip("link set p\(random.below(2)) down")) }
        return commands
    }
}
