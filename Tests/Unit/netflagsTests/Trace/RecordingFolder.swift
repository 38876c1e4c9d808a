// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestNamespaces
import TestSupport

/// A directory with one recording of each host, deleted with the value.
final class RecordingFolder {
    let path: String

    init() throws {
        var name = Array("/tmp/netflags-hosts-XXXXXX".utf8CString)
        guard mkdtemp(&name) != nil else { throw NetflagsProcess.Failure.cannot("make a folder", errno) }
        path = String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit {
        _ = ShellCommand.run("rm -r '\(path)'")
    }

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
