// SPDX-License-Identifier: Apache-2.0

import TestNamespaces
import Testing

extension TestNamespace {
    /// A host with one wire and no default route.
    static func oneWire() throws -> TestNamespace {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        return host
    }

    /// A host on which 2001:db8::9 is undecided for a socket that is bound to `w1` and 2001:db8:1::1: a route of `w0`
    /// serves it, one of `w1` too, and a rule compares the source.
    static func withUndecidedTarget() throws -> TestNamespace {
        let host = try TestNamespace()
        try host.wire("w0", "2001:db8::1/64")
        try host.wire("w1", "2001:db8:1::1/64")
        try host.ip(
            "-6 route add default via fe80::9 dev w1", "-6 rule add pref 40000 from 2001:db8:1::/64 table 7")
        return host
    }

    /// The objects that `netflags sockets` prints in the namespace, and its exit status.
    func sockets(_ options: String...) throws -> (rows: [JSONValue], status: Int) {
        let result = try run([NetflagsProcess.path, "sockets", "--json"] + options)
        return (try result.output.split(separator: "\n").map { try #require(JSONValue($0)) }, result.status)
    }
}
