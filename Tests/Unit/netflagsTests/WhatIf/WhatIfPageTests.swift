// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The stories of docs/what-if.md.
struct WhatIfPageTests {
    @Test func `each command of the page prints what the page says`() throws {
        let page = try Night.document("what-if.md")
        let blocks = page.split(separator: "```\n").filter { $0.hasPrefix("$ ") }
        #expect(blocks.count == 7)
        let folder = Night.path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "/")
        let programs = NetflagsProcess.path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "/")
        for block in blocks {
            var printed = ""
            for line in block.split(separator: "\n") where line.hasPrefix("$ ") {
                let script = "cd '\(folder)'; PATH='\(programs)':$PATH; \(line.dropFirst(2))"
                printed += "\(line)\n" + ShellCommand.run(script).output
            }
            #expect(printed == String(block))
        }
    }
}
