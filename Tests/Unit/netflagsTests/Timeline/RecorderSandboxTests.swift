// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

/// A recorder whose /proc has processes alone, as `ProcSubset=pid` of its unit leaves it.
@Suite(.enabled(if: ProcessSubset.blocker == nil, "\(ProcessSubset.blocker ?? "")"))
struct RecorderSandboxTests {
    /// Each start of the recorder was taken for one of the host, and moved what followed by the uptime.
    @Test(arguments: [
        "unset NETFLAGS_BOOT_ID", "export NETFLAGS_BOOT_ID=$(cat /proc/sys/kernel/random/boot_id)",
    ])
    func `a recorder that is started again moves no time`(environment: String) throws {
        let script = """
            \(environment)
            folder=$(mktemp -d); trap 'rm -r $folder' EXIT
            \(ProcessSubset.namespace) '\(ProcessSubset.mount) || exit
                for number in 1 2 3; do "$0" record --keep 1M --duration 0 "$1" >/dev/null || exit; done
            ' "$0" $folder/recording || exit
            date --utc +%Y-%m-%dT%H:%M:%S.%3NZ
            "$0" watch --json --replay $folder/recording default
            "$0" timeline --json $folder/recording default
            """
        let (output, errors) = (try MemoryFile(), try MemoryFile())
        let process = try NetflagsProcess.start(
            ["bash", "-c", script, NetflagsProcess.path],
            descriptors: [0, output.descriptor, errors.descriptor])
        let result = try NetflagsProcess.end(process, errors: errors.text, output: output.text)
        #expect(!result.errors.contains("behind"), "\(result.errors)")
        let now = try #require(result.lines.first)
        let times = result.lines.dropFirst().compactMap { JSONValue($0) }.flatMap { row in
            ["time", "from", "to"].compactMap { row[$0]?.string }
        }
        #expect(times.count > 3)
        // The texts have the order of the times.
        for time in times { #expect(time <= now) }
    }
}

/// A mount namespace whose /proc has processes alone.
private enum ProcessSubset {
    static let namespace = "unshare --net --mount --pid --fork --kill-child bash -c"
    static let mount = "mount -t proc -o subset=pid,hidepid=2 proc /proc && [ ! -e /proc/sys ]"

    static let blocker: String? =
        ShellCommand.run("\(namespace) '\(mount)' 2>/dev/null").status == 0
        ? nil : "needs root, namespaces and a /proc with subset=pid (Linux 5.8)"
}
