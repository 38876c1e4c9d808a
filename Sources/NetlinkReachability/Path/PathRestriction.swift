// SPDX-License-Identifier: Apache-2.0

/// Which types of interfaces a path may take.
struct PathRestriction: Hashable, Sendable {
    /// The only type; `nil` for any.
    var required: NetworkInterface.InterfaceType?
    /// Those that it may not take.
    var prohibited: Set<NetworkInterface.InterfaceType> = []

    /// Any type will do.
    static let none = PathRestriction()

    /// Whether a path may take an interface.
    func admits(_ interface: NetworkInterface) -> Bool {
        guard required ?? interface.type == interface.type else { return false }
        return !prohibited.contains(interface.type)
    }
}
