// SPDX-License-Identifier: Apache-2.0

import TestNamespaces

// The initial networks of most tests.

extension TestNamespace {
    /// A host with one wire, `w0`: 192.0.2.0/24 and 2001:db8::/64, itself .1 and ::1, and no default route.
    static func oneWire() throws -> TestNamespace {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24", "2001:db8::1/64")
        return host
    }

    /// A host with a second wire, `w1`: 203.0.113.0/24 and 2001:db8:1::/64.
    static func twoWires() throws -> TestNamespace {
        let host = try oneWire()
        try host.wire("w1", "203.0.113.1/24", "2001:db8:1::1/64")
        return host
    }

    /// Adds a default route through `w0` for both families.
    func addDefaultRoutes() throws {
        try ip("route add default via 192.0.2.254", "-6 route add default via 2001:db8::254")
    }

    /// Adds the IPv4 default route.
    func addIPv4DefaultRoute() throws {
        try ip("route add default via 192.0.2.254")
    }

    /// Removes or restores the carrier of a wire through its other end.
    func setFarEnd(of wire: String, up isUp: Bool) throws {
        try ip("link set \(wire)-far \(isUp ? "up" : "down")")
        try wait(for: wire, state: isUp ? "UP" : "DOWN")
    }
}
