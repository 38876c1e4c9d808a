// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim
import NamespaceTraits
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkReachability

/// More notifications than a connection reads at once: it read until none was left, which need not happen.
@Suite(.needsNetwork)
struct NotificationBurstTests {
    /// Adds so many addresses to loopback, takes it down, and removes them.
    ///
    /// The kernel notifies of each step.
    private func burst(_ count: Int) throws {
        try ShellCommand.check(
            """
            for i in $(seq \(count)); do
                echo "addr add 10.$((i / 250)).$((i % 250)).1/32 dev lo"
            done | ip -batch -
            ip link set lo down
            ip addr flush dev lo
            """)
    }

    @Test func `a catch-up that leaves notifications unread reports that rules may have changed, too`() throws
    {
        let isLoss = try LiveNetwork().run {
            var socket = try QuerySocket()
            guard socket.follow(.ipv4Address) else { return [Bool]() }
            return try [50, 140].map { count in
                try burst(count)
                try socket.catchUp()
                return socket.readChanges().rules
            }
        }
        #expect(isLoss == [false, true])
    }

    /// They are kept from one query to the next.
    @Test(arguments: [0, 2_000], ["", "-6"])
    func `rules are new after each change, in both families and after a burst`(count: Int, family: String)
        throws
    {
        let found = try LiveNetwork().run {
            let routing = try KernelRouting()
            return try ["add", "del"].map { verb in
                _ = try routing.answer(.rules { $0 })
                try burst(count)
                try ShellCommand.check("ip \(family) rule \(verb) pref 77 lookup 100")
                return try routing.answer(.rules { $0 }).contains { $0.priority == 77 }
            }
        }
        #expect(found == [true, false])
    }

    @Test(arguments: [100, 300, 600, 2_000])
    func `facts are new after a burst of any length`(count: Int) throws {
        let isUp = try LiveNetwork().run {
            try ShellCommand.check("ip link set lo up")
            let routing = try KernelRouting()
            let before = try routing.facts(aboutInterface: 1, detail: .flags)
            try burst(count)
            let after = try routing.facts(aboutInterface: 1, detail: .flags)
            return [before, after].map { $0?.link.flags.contains(.up) }
        }
        #expect(isUp == [true, false])
    }
}
