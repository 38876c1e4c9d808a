// SPDX-License-Identifier: Apache-2.0

/// A capability of the machine that a live test needs.
package enum Capability: String, CaseIterable, Sendable {
    case veth, bridge, ifb, macvlan, vxlan
    case tun
    /// Mounts of its own, for private copies of files below /etc.
    case mounts
    /// Nexthop objects, since Linux 5.3.
    case nexthops
    /// The permission to switch off IPv6 route notifications, which user namespaces do not have.
    case quietIPv6

    /// The reason why the machine lacks it; `nil` otherwise.
    package var obstacle: String? {
        Self.obstacles[self] ?? Self.namespaceObstacle
    }

    /// The reason why no namespace can be created; `nil` otherwise.
    package static let namespaceObstacle: String? = attempt { _ = try TestNamespace() }

    private static let obstacles: [Capability: String] = {
        guard namespaceObstacle == nil else { return [:] }
        var obstacles: [Capability: String] = [:]
        for capability in allCases {
            obstacles[capability] = attempt { try capability.tryOut() }
        }
        return obstacles
    }()

    private static func attempt(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// Uses the capability once.
    private func tryOut() throws {
        let host = try TestNamespace(self == .mounts ? .networkAndMounts : .network)
        switch self {
        case .veth, .bridge, .ifb:
            try host.ip("link add probed type \(rawValue)")
        case .macvlan:
            try host.ip(
                "link add base type veth peer name far", "link add link base name probed type macvlan")
        case .vxlan:
            try host.ip("link add probed type vxlan id 1 dstport 4789 remote 192.0.2.1")
        case .tun:
            try host.command(["tun", "probed"])
            try host.command(["set-carrier", "probed", "0"])
        case .mounts:
            let result = try host.run(["mount", "-t", "tmpfs", "none", "/mnt"])
            guard result.status == 0 else { throw NamespaceFailure("mount: \(result.output)") }
        case .nexthops:
            try host.ip("nexthop add id 1 blackhole")
        case .quietIPv6:
            try host.set("net/ipv6/route/skip_notify_on_dev_down", "1")
        }
    }
}
