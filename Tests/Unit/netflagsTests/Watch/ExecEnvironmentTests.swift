// SPDX-License-Identifier: Apache-2.0

import Testing

struct ExecEnvironmentTests {
    /// Bytes that are not UTF-8 were replaced.
    @Test func `a command of --exec gets the variables of the environment byte by byte`() throws {
        let (output, errors) = (try MemoryFile(), try MemoryFile())
        let script = """
            export odd=$'a\\xff\\xc3(z' NETFLAGS_OLD=1
            exec "$0" watch --replay "$1" --exec 'printf "<%s>" "$odd" "$NETFLAGS_OLD" "$NETFLAGS_TARGET"' default
            """
        let process = try NetflagsProcess.start(
            ["bash", "-c", script, NetflagsProcess.path, Night.path],
            descriptors: [0, output.descriptor, errors.descriptor])
        let result = try NetflagsProcess.end(process, errors: errors.text)
        #expect(result.status == 0, "\(result.errors)")
        let wanted = Array("<a".utf8) + [0xff, 0xc3] + Array("(z><><default>".utf8)
        #expect(try output.bytes().firstRange(of: wanted) != nil)
    }
}
