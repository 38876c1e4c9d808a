// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `netflags doctor`.
struct Doctor: NetflagsCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Tell what this kernel and container allow.",
        discussion: "Exit status: 0 when questions to the kernel are answered, 2 when not."
    )

    @Flag(help: "One JSON object on one line.")
    var json = false

    func perform() throws(UsageFault) -> ExitStatus {
        let findings = DoctorFindings.now()
        var text = ByteBuffer()
        if json {
            findings.writeJSON(to: &text)
        } else {
            findings.writeText(to: &text)
        }
        guard Output.standard.deliver(&text) else { return .undetermined }
        guard case .failure(let fault) = findings.lookup else { return .success }
        complain("questions to the kernel are not answered: \(fault.message)")
        return .undetermined
    }
}
