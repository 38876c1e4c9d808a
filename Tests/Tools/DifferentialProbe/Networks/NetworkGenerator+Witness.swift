// SPDX-License-Identifier: Apache-2.0

internal import TestSupport

extension NetworkGenerator {
    /// Commands that only the witness run adds: source-specific IPv6 default routes, alone in half of the networks
    /// that have them, and a VRF where the kernel has VRFs.
    static func witnessCommands(seed: UInt64) -> [Command] {
        var random = SeededGenerator(seed: seed ^ 0x5157_4e53)
        var commands: [Command] = []
        if random.once(in: 3) {
            if random.once(in: 2) { commands += plainDefaults.map { .ip6("route del \($0)") } }
            for _ in 0..<(1 + random.below(2)) {
                let number = random.below(3)
                let source = random.pick(["2001:db8:\(number)::/64", "2001:db8:\(random.below(3))::/64"])
                commands.append(
                    .ip6("route add default from \(source) via fe80::99 dev v\(number) metric 3000"))
            }
        }
        if random.once(in: 4), Namespace.hasVRF {
            commands += [
                .ip("link add red type vrf table 500"), .ip("link set red up"),
                .ip("link set v2 master red"),
                // The change of VRF took it.
                .ip("addr add 2001:db8:2::2/64 dev v2 nodad"),
                .ip("route add default via 10.0.2.1 table 500"),
                .ip6("route add default via 2001:db8:2::1 table 500"),
            ]
        }
        return commands
    }

    private static let plainDefaults = ["default", "default", "default"]
}
