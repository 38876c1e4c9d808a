// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NetlinkRoute

/// What a recording states of the host that writes it.
package enum RecordingOrigin {
    /// The operating system, its release and the machine: the output of `uname -srm`.
    package static var current: String {
        var name = utsname()
        guard uname(&name) == 0 else { return "Linux" }
        return [
            String(fixedBytes: name.sysname), String(fixedBytes: name.release),
            String(fixedBytes: name.machine),
        ].joined(separator: " ")
    }
}
