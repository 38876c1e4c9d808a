// SPDX-License-Identifier: Apache-2.0

import SystemSupport
import Testing

struct UserNamespaceTests {
    @Test(arguments: [
        ("         0          0 4294967295\n", true), ("0 1000 1\n1 100000 65536\n", false),
        ("0 100000 65536\n", false), ("1000 1000 1\n0 0 1\n", true), ("65534 0 1\n", false), ("", false),
    ])
    func `the user 0 is that of the machine where a line maps it to 0`(map: String, isSo: Bool) {
        #expect(UserNamespace.hasMachineRoot(map) == isSo)
    }
}
