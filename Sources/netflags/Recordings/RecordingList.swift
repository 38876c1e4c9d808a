// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRecording
import SystemSupport

/// The recordings that a command evaluates in sequence; one recording at a time is in memory.
struct RecordingList {
    let instants: [RecordedInstant]
    /// Whether there can be several recordings: text output then names each recording that has output.
    let isNamed: Bool

    /// How many of the recordings are standard input.
    var readingStandardInput: Int { instants.count { $0.operand == "-" } }

    /// The recordings in a directory with one recording for each host: its entries, except hidden ones.
    static func hosts(in directory: String) throws -> [String] {
        var names: [String] = []
        let isRead = forEachEntry(of: directory) { folder, name in
            var status = stat()
            // Opening a pipe would wait for a writer. An entry without a readable status is reported when it is read.
            let type = fstatat(folder, name, &status, 0) == 0 ? status.st_mode & S_IFMT : S_IFREG
            let name = String(fileName: name)
            guard !name.hasPrefix(".") else { return true }
            if type == S_IFREG || type == S_IFDIR {
                names.append(name)
            } else {
                printError("\(directory): \(name) is not a file or a directory, and is left out")
            }
            return true
        }
        guard isRead else {
            throw FileFailure(
                "read \(directory)", errno,
                advice: [
                    ENOTDIR: "give a directory with one recording a host, or --replay for one recording",
                    ENOENT: "give one that exists, with one recording a host",
                    EACCES: "make it readable for this user",
                ])
        }
        try UsageError.require(
            !names.contains(where: { RecordingDirectory.number($0) != nil }),
            "\(directory) is the recording of one host: give it to --replay, or the directory that it is in")
        guard !names.isEmpty else {
            throw FileFailure(
                "read \(directory)", "it has no recording: give one with a recording of each host")
        }
        let folder = directory.hasSuffix("/") ? directory : directory + "/"
        return names.sorted().map { folder + $0 }
    }

    /// Calls the body with each recording, and prints the text that the body writes.
    ///
    /// A recording that cannot be evaluated gets a row with the error, and the next recording follows. Text output for
    /// a single recording has no such row: the error is thrown.
    ///
    /// - Parameters:
    ///   - isJSON: Whether rows are JSON objects.
    ///   - finding: The meaning of status 1 for recordings, in words.
    ///   - errorRow: The members of a row with an error, after the member that names the recording.
    ///   - body: Evaluates a recording, and returns its status.
    /// - Returns: The worst status.
    /// - Throws: Errors of the body that concern neither the recording nor a change, and errors of the output.
    func forEach(
        isJSON: Bool,
        finding: String,
        errorRow: (_ error: String) -> KeyValuePairs<String, String?>,
        _ body: (RecordedInstant, RecordedRouting, inout ByteBuffer) throws -> ExitStatus
    ) throws -> ExitStatus {
        var progress = isNamed ? ProgressLine(total: instants.count, "recordings") : nil
        defer { progress?.erase() }
        var counts: [ExitStatus: Int] = [:]
        for (position, instant) in instants.enumerated() {
            progress?.show(position)
            var rows = ByteBuffer()
            var status = ExitStatus.undetermined
            do {
                let routing = try instant.routing { damage in
                    progress?.erase()
                    printDamage(damage)
                }
                status = try body(instant, routing, &rows)
            } catch let error where error is ReachabilityError || error is NetworkState.Refusal {
                guard isJSON || isNamed else { throw error }
                rows.removeAll()
                if isJSON {
                    rows.line { json in
                        json.member("recording", instant.operand)
                        for (key, value) in errorRow("\(error)") { json.member(key, value) }
                    }
                } else {
                    rows.line(printable: "error: \(error)")
                }
            }
            counts[status, default: 0] += 1
            guard !rows.bytes.isEmpty else { continue }
            progress?.erase()
            try Output.standard.deliver { buffer in
                if isNamed, !isJSON { buffer.line(printable: "\(instant.operand):") }
                buffer.append(bytes: rows.bytes)
                if isNamed, !isJSON { buffer.append("\n") }
            }
        }
        progress?.erase()
        try writeSummary(counts, isJSON: isJSON, finding)
        return counts.keys.reduce(.success) { $0.worse($1) }
    }

    private func writeSummary(_ counts: [ExitStatus: Int], isJSON: Bool, _ finding: String) throws {
        let failed = counts[.undetermined] ?? 0
        if isJSON, failed > 0 {
            printError(
                "\(failed) of \(instants.count) recordings could not be evaluated: see the errors in their rows"
            )
        } else if isNamed, !isJSON {
            try Output.standard.deliver { buffer in
                buffer.append(
                    "\(instants.count) recording\(instants.count == 1 ? "" : "s"): \(counts[.unreachable] ?? 0) \(finding), "
                        + "\(failed) could not be evaluated\n")
            }
        }
    }
}
