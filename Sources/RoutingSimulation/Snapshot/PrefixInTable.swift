// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A prefix of a table: the place of routes that are ordered among themselves.
struct PrefixInTable: Hashable {
    let prefix: IPPrefix
    let table: UInt32
}

extension PrefixInTable {
    init(_ route: Route) {
        self.init(prefix: route.destination, table: route.table)
    }
}
