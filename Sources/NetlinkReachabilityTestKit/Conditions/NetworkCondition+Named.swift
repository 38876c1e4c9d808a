// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

// The addresses are reserved for documentation (RFC 5737, RFC 3849).
extension NetworkCondition {
    /// Only the loopback interface; names fail with a temporary error.
    public static let offline = named("offline") { host in
        host.names.others = .failing
    }

    /// A cable to an IPv4 network: `eth0`.
    ///
    /// Other names resolve to an address behind the default route, as in all conditions with a default route.
    public static let wired = named("wired") { host in
        try host.addIPv4("eth0", .ethernet, "192.0.2.2", metric: 100)
        host.names.others = .addresses(internet4)
    }

    /// A Wi-Fi network with IPv4: `wlan0`.
    public static let wifi = named("wifi") { try $0.addWiFi() }

    /// A Wi-Fi network that loses its carrier for 2 s after each 5 s.
    ///
    /// Addresses and routes stay, as they do on a real host for the first seconds.
    public static let flappingWiFi = named(
        "flapping Wi-Fi",
        [
            Step(delay: .seconds(5)) { try $0.setCarrier("wlan0", isPresent: false) },
            Step(delay: .seconds(2)) { try $0.setCarrier("wlan0", isPresent: true) },
        ]
    ) { try $0.addWiFi() }

    /// A cellular modem alone: `wwan0`.
    public static let cellularOnly = named("cellular only") { host in
        try host.addInterface("wwan0", .cellular)
        try host.addAddress("198.51.100.2", prefixLength: 30, to: "wwan0")
        try host.addRoute(SimulatedRoute(to: .allV4, through: "wwan0", metric: 700))
        host.names.servers = [IPAddress(198, 51, 100, 1)]
        host.names.others = .addresses(internet4)
    }

    /// A WireGuard VPN for all traffic, as wg-quick configures it, over a Wi-Fi interface without a carrier.
    ///
    /// The flags contain *reachable*: the kernel sends into the tunnel and does not report whether the tunnel works.
    /// `carriers` of the path shows that the Wi-Fi interface cannot send. Names cannot be resolved.
    public static let vpnWithoutUnderlay = named("VPN without underlay") { host in
        try host.addIPv4("wlan0", .wifi, "192.0.2.3", metric: 600)
        try host.addInterface("wg0", .wireGuard)
        try host.addAddress("198.51.100.2", prefixLength: 32, to: "wg0")
        try host.addRoute(SimulatedRoute(to: .allV4, through: "wg0", table: 51_820))
        try host.apply("rule add pref 32765 not fwmark 0xca6c table 51820")
        try host.apply("rule add pref 32764 table main suppress_prefixlength 0")
        try host.setCarrier("wlan0", isPresent: false)
        host.names.others = .failing
    }

    /// A Wi-Fi network with a captive portal: every name resolves to the portal's on-link address.
    public static let captiveDNS = named("captive DNS") { host in
        try host.addWiFi()
        host.names.captive = .addresses("192.0.2.1")
    }

    /// A cable to a network with IPv4 and IPv6: `eth0`.
    public static let dualStack = named("dual stack") { try $0.addDualStack() }

    /// A cable to a network with IPv4 and IPv6: `eth0`, which loses its IPv4 address after 5 s, like an expired lease.
    public static let dualStackLosingIPv4 = named(
        "dual stack losing IPv4",
        [
            Step(delay: .seconds(5)) { try $0.removeAddress("192.0.2.2", from: "eth0") }
        ]
    ) { try $0.addDualStack() }

    /// A cable to a network with IPv6 alone: `eth0`.
    public static let ipv6Only = named("IPv6 only") { host in
        try host.addInterface("eth0")
        try host.addIPv6("eth0")
        host.names.others = .addresses(internet6)
    }

    /// 203.0.113.80, the IPv4 address of names.
    static let internet4 = IPAddress(203, 0, 113, 80)
    /// 2001:db8:80::80, the IPv6 address of names.
    static let internet6 = "2001:db8:80::80".simulatedAddress

    /// Creates a predefined condition; a test applies each of them.
    private static func named(
        _ name: String,
        _ steps: [Step] = [],
        _ setUp: @escaping Change
    ) -> NetworkCondition {
        do {
            var condition = try NetworkCondition(name, setUp)
            for step in steps { condition = try condition.then(after: step.delay, step.change) }
            return steps.count > 1 ? try condition.repeating() : condition
        } catch {
            preconditionFailure("the condition \(name) contradicts itself: \(error)")
        }
    }
}

extension SimulatedHost {
    fileprivate mutating func addIPv4(
        _ name: String,
        _ kind: InterfaceKind,
        _ address: some SimulatedAddress,
        metric: UInt32
    ) throws(SimulationError) {
        try addInterface(name, kind)
        try addAddress(address, prefixLength: 24, to: name)
        try addRoute(.default(via: "192.0.2.1", through: name, metric: metric))
        names.servers.append(IPAddress(192, 0, 2, 1))
    }

    fileprivate mutating func addIPv6(_ name: String) throws(SimulationError) {
        try addAddress("2001:db8::2", prefixLength: 64, to: name)
        try addRoute(.default(via: "fe80::1", through: name))
        names.servers.append("2001:db8::1".simulatedAddress)
    }

    fileprivate mutating func addWiFi() throws(SimulationError) {
        try addIPv4("wlan0", .wifi, "192.0.2.3", metric: 600)
        names.others = .addresses(NetworkCondition.internet4)
    }

    fileprivate mutating func addDualStack() throws(SimulationError) {
        try addIPv4("eth0", .ethernet, "192.0.2.2", metric: 100)
        try addIPv6("eth0")
        names.others = .addresses(NetworkCondition.internet6, NetworkCondition.internet4)
    }
}
