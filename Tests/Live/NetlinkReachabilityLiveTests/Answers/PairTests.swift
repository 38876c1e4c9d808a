// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

struct PairTests {
    @Test(.needs(.veth)) func `a pair with an own local address is evaluated by the remote one`() throws {
        let host = try TestNamespace.twoWires()
        try host.expect(.pair(local: "192.0.2.1", remote: "192.0.2.9"), .direct, "onLink", through: "w0")
        try host.expect(.pair(local: "2001:db8::1", remote: "2001:db8::9"), .direct, "onLink", through: "w0")
        try host.expect(.pair(local: "203.0.113.1", remote: "192.0.2.9"), .direct, "onLink", through: "w0")
        try host.expect(.pair(local: "192.0.2.1", remote: "203.0.113.1"), .own, "localAddress")
        try host.expect(.pair(local: "192.0.2.1", remote: "198.51.100.1"), .none, "noRoute")
        try host.expect(.pair(local: "::ffff:192.0.2.1", remote: "192.0.2.9"), .direct, "onLink")
    }

    @Test(.needs(.veth)) func `a pair with a foreign local address is not reachable`() throws {
        let host = try TestNamespace.oneWire()
        try host.expect(.pair(local: "192.0.2.77", remote: "192.0.2.9"), .none, "notOwnAddress")
        try host.expect(.pair(local: "2001:db8::77", remote: "2001:db8::9"), .none, "notOwnAddress")
        try host.expect(.pair(local: "192.0.2.255", remote: "192.0.2.9"), .none, "notOwnAddress")
    }

    @Test(.needs(.veth)) func `a loopback local address is ignored for other destinations`() throws {
        let host = try TestNamespace.oneWire()
        try host.expect(.pair(local: "127.0.0.1", remote: "192.0.2.9"), .direct, "onLink", through: "w0")
        try host.expect(.pair(local: "::1", remote: "2001:db8::9"), .direct, "onLink", through: "w0")
        try host.expect(.pair(local: "127.0.0.1", remote: "127.0.0.1"), .own, "localAddress")
        try host.expect(.pair(local: "::1", remote: "::1"), .own, "localAddress")
        try host.expect(.pair(local: "127.0.0.1", remote: "198.51.100.1"), .none, "noRoute")
    }

    @Test(.needs(.veth)) func `a pair of two families is an error`() throws {
        let host = try TestNamespace.oneWire()
        try host.expectError(.pair(local: "192.0.2.1", remote: "2001:db8::9"), "invalidAddress")
        try host.expectError(.pair(local: "2001:db8::1", remote: "192.0.2.9"), "invalidAddress")
    }

    @Test(.needs(.veth)) func `the remote address can be the default path`() throws {
        let host = try TestNamespace.oneWire()
        try host.expect(.pair(local: "192.0.2.1", remote: "0.0.0.0"), .none, "noDefaultRoute")
        try host.addDefaultRoutes()
        try host.expect(.pair(local: "192.0.2.1", remote: "0.0.0.0"), .routed, gateway: "192.0.2.254")
        try host.expect(.pair(local: "2001:db8::1", remote: "::"), .routed, gateway: "2001:db8::254")
        try host.expect(.pair(local: "192.0.2.77", remote: "0.0.0.0"), .none, "notOwnAddress")
    }

    @Test(.needs(.veth)) func `a link-local pair needs one zone`() throws {
        let host = try TestNamespace.oneWire()
        try host.address("w0", "fe80::1/64")
        try host.expect(.pair(local: "fe80::1%w0", remote: "fe80::9%w0"), .direct, "onLink", through: "w0")
        try host.expect(.pair(local: "fe80::1%w0", remote: "fe80::9"), .direct, "onLink", through: "w0")
        try host.expect(.pair(local: "fe80::77%w0", remote: "fe80::9%w0"), .none, "notOwnAddress")
        try host.expect(.pair(local: "fe80::1", remote: "fe80::9"), .none, "needsInterface")
    }
}
