// SPDX-License-Identifier: Apache-2.0

import TestNamespaces
import Testing

extension Trait where Self == ConditionTrait {
    /// Skips the test, with the kernel's message, on a machine without the capability.
    static func needs(_ capabilities: Capability...) -> Self {
        let missing = capabilities.first { $0.obstacle != nil }
        let name = missing.map { " with \($0.rawValue)" } ?? ""
        let obstacle = missing.map { $0.obstacle ?? "" } ?? Capability.namespaceObstacle
        return .enabled(if: obstacle == nil, "no namespace\(name) here: \(obstacle ?? "")")
    }
}
