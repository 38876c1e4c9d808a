// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// The entry of a routing table that a packet takes.
///
/// A report names it so that `ip route show table TABLE` finds it.
public struct NetworkRoute: Hashable, Sendable, Codable {
    /// The addresses that the entry is for; `IPPrefix.allV4` or `IPPrefix.allV6` for a default route.
    public let destination: IPPrefix
    /// The number of the routing table; 254 is `main`, 255 is `local`.
    ///
    /// The kernel's counterpart is `RTA_TABLE`.
    public let table: UInt32
    /// The metric; the kernel prefers the entry with the lower one.
    ///
    /// The kernel's counterpart is `RTA_PRIORITY`.
    public let metric: UInt32

    /// Creates an entry from its parts.
    public init(destination: IPPrefix, table: UInt32, metric: UInt32) {
        self.destination = destination
        self.table = table
        self.metric = metric
    }

    package init(_ route: Route) {
        self.init(destination: route.destination, table: route.table, metric: route.priority)
    }
}

extension NetworkRoute: CustomStringConvertible {
    /// The entry as `ip route` orders its words: `default table 254 metric 100`.
    public var description: String {
        "\(destination.isDefault ? "default" : destination.description) table \(table) metric \(metric)"
    }
}
