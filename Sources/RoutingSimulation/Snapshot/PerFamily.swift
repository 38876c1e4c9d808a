// SPDX-License-Identifier: Apache-2.0

internal import RoutingModel

/// A value for IPv4 and one for IPv6.
struct PerFamily<Value: Sendable>: Sendable {
    private var v4: Value
    private var v6: Value

    /// Gives both families the same value.
    init(_ value: Value) {
        (v4, v6) = (value, value)
    }

    /// The value of a family.
    subscript(_ family: IPAddress.Family) -> Value {
        _read { if family == .v4 { yield v4 } else { yield v6 } }
        _modify { if family == .v4 { yield &v4 } else { yield &v6 } }
    }
}
