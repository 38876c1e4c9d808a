// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import TestSupport
import Testing

@testable import netflags

/// Interfaces over interfaces of the running kernel, drawn at random, with names that are not UTF-8.
@Suite(
    .needs(.veth, .bridge))
struct StackedLinkTests {
    /// The commands of a stack; those that the kernel refuses are passed over.
    private static func commands(_ random: inout SeededGenerator) -> [String] {
        var names = ["w0", "w1"]
        var lines = ["ip link add w0 type veth peer name w1", "ip link add br0 type bridge"]
        for number in 0..<Int.random(in: 4...12, using: &random) {
            let lower = random.pick(names)
            let name = random.pick([
                "n\(number)", "n\(number)", "$(printf '\\377n\(number)')", "$(printf 'n\\033\(number)')",
            ])
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1: lines.append("ip link add link \(lower) name \(name) type vlan id \(number + 2)")
            case 2: lines.append("ip link add link \(lower) name \(name) type macvlan")
            default: lines.append("ip link add \(name) type bridge")
            }
            names.append(name)
            if Bool.random(using: &random) { lines.append("ip link set \(random.pick(names)) master br0") }
        }
        for name in names + ["br0"] { lines.append("ip link set \(name) up") }
        for (number, name) in names.enumerated() {
            lines.append("ip addr add 10.0.\(number).1/24 dev \(name)")
        }
        lines.append("ip link set \(random.pick(names)) down")
        return lines + ["true"]
    }

    @Test(arguments: 0..<UInt64(Rounds.of(10)))
    func `stacks of the running kernel are asked, changed in mind and recorded`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let host = try TestNamespace()
        _ = try host.shell(Self.commands(&random).map { "\($0) 2>/dev/null" }.joined(separator: "\n"))
        for arguments in [
            ["default", "10.0.0.9", "10.0.3.9"], ["path"], ["what-if", "--each", "10.0.1.9"],
            ["what-if", "link set w0 down", "link del w0", "--", "10.0.0.9", "10.0.3.9"],
            ["what-if", "addr flush dev w1", "link set w1 down", "link set w1 up"],
        ] {
            let result = try host.run(host.entering([NetflagsProcess.path] + arguments))
            #expect(result.status <= 2, "\(arguments): \(result.output)")
        }
    }
}
