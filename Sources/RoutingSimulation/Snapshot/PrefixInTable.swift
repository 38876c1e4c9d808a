// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// A prefix of a table: the place of routes that are ordered among themselves.
package struct PrefixInTable: Hashable {
    /// The prefix.
    package let prefix: IPPrefix
    /// The number of the table.
    package let table: UInt32
}

extension PrefixInTable {
    /// The place of a route.
    package init(_ route: Route) {
        self.init(prefix: route.destination, table: route.table)
    }
}
