// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import TestNamespaces
import Testing

struct LiveTests {
    /// The program lies where the probe of the namespaces does: all come out of one build.
    private var program: String {
        get throws {
            let probe = try TestNamespace.probePath
            return probe.prefix(through: probe.lastIndex(of: "/") ?? probe.startIndex)
                + "SystemConfigurationProbe"
        }
    }

    @Test(.needs(.veth))
    func `Apple's functions follow the running kernel`() throws {
        let namespace = try TestNamespace()
        // A host without any network: not even the loopback interface is up.
        try namespace.ip("link set lo down")
        let result = try namespace.run([try program])
        #expect(result.status == 0)
        #expect(
            result.output == """
                no network, 0.0.0.0: none
                no network, 169.254.0.0: none
                no network, pair: none
                no network, a name: none
                no network, localhost: Rld
                localhost received: Rld
                callback first received: R
                queue first received: R
                default route, 0.0.0.0: R
                default route, 169.254.0.0: Rd
                default route, pair: R
                default route, a name: R
                default route, localhost: Rld
                an invalid name received: none
                callback first received: R, none
                queue first received: R, none
                scheduled, 0.0.0.0: none
                localhost received: Rld
                true true true true taken off

                """
        )
    }
}
