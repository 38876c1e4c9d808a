// SPDX-License-Identifier: Apache-2.0

import TestNamespaces
import Testing

extension Trait where Self == ConditionTrait {
    /// Skips the test, with the kernel's message, on a machine without the capability.
    static func needs(_ capabilities: Capability...) -> Self {
        let missing = capabilities.first { $0.blocker != nil }
        let name = missing.map { " with \($0.rawValue)" } ?? ""
        let blocker = missing.map { $0.blocker ?? "" } ?? Capability.namespaceBlocker
        return .enabled(if: blocker == nil, "no namespace\(name) here: \(blocker ?? "")")
    }
}
