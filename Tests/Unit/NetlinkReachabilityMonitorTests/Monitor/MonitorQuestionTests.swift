// SPDX-License-Identifier: Apache-2.0

import Fakes
import Testing

@testable import NetlinkReachability

struct MonitorQuestionTests {
    @Test(arguments: [
        "192.0.2.1", "255.255.255.255", "192.0.2.1%eth0", "2001:db8::1", "fe80::1%2", "::ffff:192.0.2.1",
        "www.example.com", "0.0.0.0", "::", "::%eth0",
    ])
    func `a handle keeps its target, however compactly it is stored`(text: String) throws {
        let target = try ReachabilityTarget.host(text)
        #expect(try ScriptedNetwork().handle(target).target == target)
    }

    @Test func `a handle keeps a pair`() throws {
        let target = try ReachabilityTarget.pair(
            local: IPAddress(192, 0, 2, 1), remote: IPAddress(198, 51, 100, 1))
        #expect(try ScriptedNetwork().handle(target).target == target)
    }

    @Test func `only IPv4 addresses without a zone and with the usual options are plain`() throws {
        func plain(
            _ text: String,
            _ options: ReachabilityOptions = ReachabilityOptions()
        ) throws -> IPAddress? {
            MonitoredTarget(target: try .host(text), options: options).plainDestination
        }
        var (marked, patient) = (ReachabilityOptions(), ReachabilityOptions())
        (marked.mark, patient.resolutionTimeout) = (7, .seconds(1))
        let address = IPAddress(192, 0, 2, 1)
        #expect(try plain("192.0.2.1") == address)
        #expect(try plain("::ffff:192.0.2.1") == address)
        #expect(try plain("192.0.2.1", patient) == address)
        #expect(try plain("192.0.2.1", marked) == nil)
        #expect(try plain("192.0.2.1%eth0") == nil)
        #expect(try plain("2001:db8::1") == nil)
        #expect(try plain("www.example.com") == nil)
        #expect(try plain("0.0.0.0") == nil)
    }
}
