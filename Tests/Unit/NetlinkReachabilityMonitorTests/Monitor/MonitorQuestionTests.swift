// SPDX-License-Identifier: Apache-2.0

import Fakes
import Testing

@testable import NetlinkReachability

struct MonitorQuestionTests {
    @Test(arguments: [
        "192.0.2.1", "255.255.255.255", "192.0.2.1%eth0", "2001:db8::1", "fe80::1%2", "::ffff:192.0.2.1",
        "www.example.com", "0.0.0.0", "::", "::%eth0",
    ])
    func `a handle keeps its target`(text: String) throws {
        let target = try ReachabilityTarget.host(text)
        #expect(try ScriptedNetwork().handle(target).target == target)
    }

    @Test func `a handle keeps a pair`() throws {
        let target = try ReachabilityTarget.pair(
            local: IPAddress(192, 0, 2, 1), remote: IPAddress(198, 51, 100, 1))
        #expect(try ScriptedNetwork().handle(target).target == target)
    }
}
