// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@Suite(.enabled(if: Sandbox.isAvailable, "no seccomp here"))
struct RefusalTests {
    /// `watch` and `path --watch` tried again every five seconds for as long as they ran.
    @Test(
        arguments: [
            ["watch", "127.0.0.1", "default"], ["watch", "--json", "localhost"], ["path", "--watch"],
            ["path", "--watch", "--json"], ["wait", "default"],
        ],
        [EPERM, EAFNOSUPPORT]
    )
    func `netlink that is refused from the start ends it with status 2 and what to allow, once`(
        arguments: [String], number: Int32
    ) throws {
        let result = try Sandbox.refusingNetlink(with: number) {
            let (output, errors) = (try MemoryFile(), try MemoryFile())
            let process = try NetflagsProcess.start(
                ["timeout", "-s", "KILL", "60", NetflagsProcess.path] + arguments,
                descriptors: [0, output.descriptor, errors.descriptor])
            return try NetflagsProcess.end(process, errors: errors.text, output: output.text)
        }
        #expect(result.status == 2)
        #expect(result.output == "")
        #expect(result.errors.hasPrefix("netflags: cannot open a netlink event socket: "))
        #expect(result.errors.hasSuffix("allow AF_NETLINK (RestrictAddressFamilies= in systemd)\n"))
        #expect(result.errors.split(separator: "\n").count == 1)
    }
}
