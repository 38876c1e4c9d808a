// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
internal import NetlinkRecording

/// A file of expectations, one per line.
struct ExpectationFile {
    /// The name of the file in messages.
    let name: String
    let lines: [Line]

    /// An expectation, and the number of its line, from 1.
    struct Line: Hashable {
        let number: Int
        let expectation: NetworkState.Expectation
    }

    /// Reads and parses a file, `-` for standard input.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - isReplay: Whether a recording answers, which supports every protocol.
    /// - Throws: A usage error that names the line and what is expected there; a ``FileFailure`` if the file cannot
    ///   be read.
    init(_ path: String, isReplay: Bool) throws {
        let file = LineFile(path)
        name = file.name
        var found: [Line] = []
        try file.forEachLine(of: "expectation", such: "default reachable") { number, text in
            let expectation = try NetworkState.Expectation(text)
            try expectation.options.checkProtocol(isReplay: isReplay)
            found.append(Line(number: number, expectation: expectation))
        }
        try UsageError.require(
            !found.isEmpty, "\(name) holds no expectation: give one a line, such as default reachable")
        self.lines = found
    }
}

extension ExpectationFile {
    /// Checks the expectations on a network, and writes the results.
    ///
    /// - Parameters:
    ///   - source: The network.
    ///   - before: The network before the changes that made it; `nil` if there were none.
    ///   - format: The format of the output.
    ///   - buffer: The output.
    /// - Returns: The exit status.
    func check(
        _ source: NetworkSource, after before: NetworkSource? = nil, _ format: AssertFormat,
        to buffer: inout ByteBuffer
    ) -> ExitStatus {
        // All names are resolved concurrently.
        let pending = lines.map { line in
            let query = TargetQuery(targets: [], options: line.expectation.options, explains: true)
            var pending = PendingReports(query, source)
            pending.add(line.expectation.name, .success(line.expectation.target))
            return pending
        }
        var status = ExitStatus.success
        for (line, var pending) in zip(lines, pending) {
            for answer in pending.evaluateAll().compactMap(\.outcome) {
                let outcome =
                    mistake(in: line.expectation, answer, before).map { .undetermined($0) }
                    ?? line.expectation.outcome(of: answer, in: source)
                status = status.worse(outcome.exitStatus)
                format.write(line, answer, outcome, to: &buffer)
            }
        }
        return status
    }

    /// The message about an interface that does not exist, and that no change has removed: its name can be mistyped.
    private func mistake(
        in expectation: NetworkState.Expectation, _ answer: Answer, _ before: NetworkSource?
    ) -> String? {
        guard let mistake = (try? answer.get())?.reason.mistake else { return nil }
        let query = NetworkQuery.report(of: expectation.target, options: expectation.options)
        let old = try? before?.blockingValue(of: query)
        return old.map { $0.reason.mistake == nil } ?? false ? nil : mistake
    }
}
