// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

struct TransitionTests {
    @Test func `code for Apple's platforms is called when a default route is added and removed`() throws {
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
                at the start: 18 watchers received ["offline"]
                queries: false false
                the default route comes: 18 watchers received ["offline", "online"]
                queries: true true
                local network: true true
                an error: Invalid argument
                it goes: 18 watchers received ["offline", "online", "offline"]
                after a restart: 9 watchers received ["offline"]
                it comes again: 9 watchers received ["offline", "online"]
                after the end no watcher was called

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
