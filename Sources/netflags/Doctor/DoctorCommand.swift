// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `netflags doctor`.
struct Doctor: NetflagsCommand {
    static let configuration = CommandConfiguration(
        commandNamed: .doctor,
        abstract: "Print what this kernel and container allow.",
        usage: "netflags doctor [--json]",
        discussion: """
            A line has a finding, and behind a semicolon what it means.

            Exit status: 0 when the kernel answers lookups, 2 when it does not, 64 wrong usage.
            """
    )

    @Flag(help: "One JSON object on one line.")
    var json = false

    func perform() throws -> ExitStatus {
        let findings = DoctorFindings()
        try Output.standard.deliver { json ? findings.writeJSON(to: &$0) : findings.writeText(to: &$0) }
        guard let error = findings.lookup.failure else { return .success }
        printError("the kernel does not answer lookups: \(error)")
        return .undetermined
    }
}
