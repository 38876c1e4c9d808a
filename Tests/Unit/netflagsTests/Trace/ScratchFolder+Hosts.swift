// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestNamespaces
import TestSupport

// A folder with one recording of each host.

extension ScratchFolder {
    /// Records a host as `netflags record` does.
    func record(_ host: TestNamespace, as name: String) throws {
        try host.shell("'\(NetflagsProcess.path)' record '\(path)/\(name).rtnl'")
    }

    func write(_ text: String, as name: String) throws {
        guard ShellCommand.run("printf %s '\(text)' > '\(path)/\(name)'").status == 0 else {
            throw NetflagsProcess.Failure.cannot("write \(name)", errno)
        }
    }
}
