// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite struct TransitionTests {
    @Test func `code for Apple's platforms is told when a default route comes and goes`() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["unshare", geteuid() == 0 ? "-n" : "-Urn", try program]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(
            String(decoding: output, as: UTF8.self) == """
                localhost without a network: true
                at the start: 18 watchers were told ["offline"]
                questions: false false
                the default route comes: 18 watchers were told ["offline", "online"]
                questions: true true
                local network: true true
                an error: Invalid argument
                it goes: 18 watchers were told ["offline", "online", "offline"]
                after a restart: 9 watchers were told ["offline", "online"]
                after the end nobody was told

                """
        )
    }

    /// The program lies beside the tests: both come out of one build.
    private var program: String {
        get throws {
            let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            return (own as NSString).deletingLastPathComponent + "/transitions"
        }
    }
}
