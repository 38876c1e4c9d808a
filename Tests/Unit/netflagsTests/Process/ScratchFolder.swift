// SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport

/// A folder, removed with the value and the files in it.
final class ScratchFolder {
    let path: String

    init() throws {
        var name = Array("/tmp/netflags-folder-XXXXXX".utf8CString)
        guard mkdtemp(&name) != nil else { throw NetflagsProcess.Failure.cannot("make a folder", errno) }
        path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        _ = forEachEntry(of: path) { folder, name in
            unlinkat(folder, name, 0)
            return true
        }
        rmdir(path)
    }
}
