// SPDX-License-Identifier: Apache-2.0

import TestNamespaces
import Testing

extension Trait where Self == ConditionTrait {
    /// Skips tests on a machine that cannot make a network namespace with a veth.
    static var needsNamespace: Self {
        let blocker = Capability.veth.blocker
        return .enabled(if: blocker == nil, "no namespace with a veth here: \(blocker ?? "")")
    }
}

extension TestNamespace {
    /// A host with one wire and no default route.
    static func oneWire() throws -> TestNamespace {
        let host = try TestNamespace()
        try host.wire("w0", "192.0.2.1/24")
        return host
    }
}
