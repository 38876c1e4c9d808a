// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

struct ShellCommandTests {
    @Test func `a script that fails ends its program in the background`() throws {
        let file = try TemporaryFile()
        #expect(throws: ShellCommand.Failure.self) {
            try ShellCommand.check("sleep 1000 >/dev/null 2>&1 & P=$!; echo $P >\(file.path); false")
        }
        // Until the program is a zombie, or gone.
        let end = ShellCommand.run(
            """
            read P <\(file.path)
            for i in $(seq 2000); do grep -q '^State:.[RSD]' /proc/$P/status 2>/dev/null || exit 0; sleep 0.01; done
            kill $P; exit 1
            """)
        #expect(end.status == 0)
    }
}
