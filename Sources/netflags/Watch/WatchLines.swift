// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
import NetlinkRoute
internal import SystemSupport

/// The lines of `netflags watch`, from whichever queue they come: one after the other, each written at once.
final class WatchLines: Sendable {
    /// A network that changes while it is asked about has so many chances to hold still.
    private static let attempts = 3

    /// What a line is made with, in one of its formats.
    private struct Paper {
        var text: TextOutput?
        var json: JSONOutput
        var buffer = ByteBuffer()
    }

    private let paper: Locked<Paper>
    private let explains: Bool

    init(_ question: CheckQuestion) {
        explains = question.explains
        let isText = question.format == .text
        let colour = TextOutput.wantsColour(.standard)
        paper = Locked(
            Paper(
                text: isText ? TextOutput(question, isColoured: colour) : nil,
                json: JSONOutput(explains: question.explains)
            )
        )
    }

    /// Writes a line with these flags, and with what led to them as far as the handle still says the same.
    func write(_ flags: ReachabilityFlags, of text: String, _ handle: NetworkReachability) {
        let time = Timestamp.now
        write(Answer(target: text, outcome: outcome(flags, handle), time: time))
    }

    /// Writes a line; a process that cannot write any more ends.
    func write(_ answer: Answer) {
        let isWritten = paper.withLock { paper in
            if paper.text != nil {
                paper.text?.write(answer, to: &paper.buffer)
            } else {
                paper.json.write(answer, to: &paper.buffer)
            }
            return Output.standard.deliver(&paper.buffer)
        }
        if !isWritten { ExitStatus.undetermined.exit() }
    }

    private func outcome(_ flags: ReachabilityFlags, _ handle: NetworkReachability) -> Answer.Outcome {
        for _ in 0..<Self.attempts {
            do {
                let report = try handle.report(explains ? .full : .brief)
                if report.flags == flags { return .report(report) }
            } catch {
                // Without an interface to ask about there are no flags; the error tells more.
                if flags.isEmpty { return .failure("\(error)") }
            }
        }
        return .passing(flags)
    }
}
