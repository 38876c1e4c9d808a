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

    /// The addresses to which a connected UDP socket sends a large datagram that arrives at the end of a wire.
    func arrivals(at end: String, of targets: [String]) throws -> Set<String> {
        let script = """
            bytes() { awk '$1 == "\(end):" { print $2 }' /proc/net/dev; }
            for target in \(targets.joined(separator: " ")); do
                before=$(bytes)
                exec 3<>/dev/udp/$target/9 && head -c 1200 /dev/zero >&3
                exec 3>&-
                if [ $(($(bytes) - before)) -gt 1000 ]; then echo $target; fi
            done
            """
        return Set(try run(["bash", "-c", script]).output.split(separator: "\n").map(String.init))
    }

    /// Removes or restores the carrier of a wire through its other end.
    func setFarEnd(of wire: String, up isUp: Bool) throws {
        try ip("link set \(wire)-far \(isUp ? "up" : "down")")
        try wait(for: wire, state: isUp ? "UP" : "DOWN")
    }
}
