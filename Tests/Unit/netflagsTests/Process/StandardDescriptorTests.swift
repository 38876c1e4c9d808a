// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

struct StandardDescriptorTests {
    @Test(
        arguments: [
            ("\"$0\" - <&-", "stdin"), ("\"$0\" 127.0.0.1 >&-", "stdout"),
            ("\"$0\" --json localhost >&-", "stdout"),
            ("\"$0\" path >&-", "stdout"), ("\"$0\" doctor >&-", "stdout"),
            ("\"$0\" watch 127.0.0.1 >&-", "stdout"),
            ("\"$0\" --help >&-", "stdout"), ("\"$0\" record - >&-", "stdout"),
            ("\"$0\" --replay - 127.0.0.1 <&-", "stdin"),
            ("\"$0\" wait - <&-", "stdin"), ("\"$0\" watch --count 1 - 127.0.0.1 <&-", "stdin"),
        ]
    )
    func `a closed descriptor that the command needs is an error with status 2`(script: String, name: String)
        throws
    {
        let result = try NetflagsProcess.run(script: script)
        #expect(result.status == 2)
        #expect(result.output == "")
        #expect(result.errors.hasPrefix("netflags: "))
        #expect(result.errors.contains(name), "\(result.errors)")
    }

    /// A recorder noticed it at the next change: on a quiet host never.
    @Test(
        arguments: [
            // The first message is shorter, and the second write is the whole dump.
            "exec 3> >(dd bs=1 count=100 of=/dev/null); \"$0\" record --events - >&3",
            """
            folder=$(mktemp -d); mkfifo $folder/file; dd bs=1 count=100 if=$folder/file of=/dev/null &
            "$0" record --events $folder/file; status=$?; rm -r $folder; exit $status
            """,
        ]
    )
    func `a recording into a pipe ends when its reader is gone, as by a broken pipe`(script: String) throws {
        let result = try NetflagsProcess.run(script: script)
        #expect(result.status == 2)
        #expect(result.errors.contains(": the recording ends here"), "\(result.errors)")
    }

    @Test(arguments: ["\"$0\" 127.0.0.1 <&-", "\"$0\" 127.0.0.1 2>&-", "\"$0\" 127.0.0.1 <&- 2>&-"])
    func `a closed descriptor that the command does not need changes nothing`(script: String) throws {
        let result = try NetflagsProcess.run(script: script)
        #expect(result.status == 0)
        #expect(result.output.hasPrefix("127.0.0.1 "))
    }

    @Test(.enabled(if: !ProcessResources.isSanitized, "sanitizers open files"))
    func `one free descriptor is enough for an address`() throws {
        let result = try NetflagsProcess.run(script: "ulimit -n 4; exec \"$0\" 127.0.0.1")
        #expect(result.status == 0)
        #expect(result.output.hasPrefix("127.0.0.1 "))
    }

    @Test(
        .enabled(if: !ProcessResources.isSanitized, "sanitizers open files"),
        arguments: [4, 6]
    )
    func `a name that cannot be resolved for lack of descriptors is an error that names them`(limit: Int)
        throws
    {
        let result = try NetflagsProcess.run(script: "ulimit -n \(limit); exec \"$0\" name.example")
        #expect(result.status == 2)
        #expect(result.errors.contains("descriptors"), "\(result.errors)")
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root can unmount /proc in a mount namespace"),
        .enabled(if: !ProcessResources.isSanitized, "sanitizers read /proc")
    )
    func `without /proc the arguments are still read`() throws {
        let result = try NetflagsProcess.run(
            script: "unshare -m bash -c 'umount -l /proc; \"$0\" 127.0.0.1' \"$0\"")
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.hasPrefix("127.0.0.1 "))
    }
}
