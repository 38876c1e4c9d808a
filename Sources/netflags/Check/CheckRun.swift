// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability

/// `netflags check` at work: one target after the other, each answer written as it comes.
struct CheckRun<Format: AnswerFormat> {
    private let question: CheckQuestion
    private var format: Format
    private var buffer = ByteBuffer()
    private var status = ExitStatus.success
    private let output = Output.standard
    /// Where all answers come from; `nil` for a kernel that cannot be had, of which each target says so.
    private let source: NetworkSource?
    /// Whether a person would read each error twice: in the answers and as a complaint.
    private let isWatched: Bool

    init(question: CheckQuestion, source: NetworkSource?, format: Format) {
        self.question = question
        self.source = source
        self.format = format
        isWatched =
            question.format == .text && output.isTerminal && Output(descriptor: STDERR_FILENO).isTerminal
    }

    /// Answers everything.
    mutating func run(_ places: [CheckQuestion.Place]) -> ExitStatus {
        for place in places {
            switch place {
            case .target(let text, let target):
                let answer = Answer(target: text, outcome: ask(target))
                guard give(answer, isComplaint: !isWatched) else { return status }
            case .standardInput:
                guard answerStandardInput() else { return status }
            }
        }
        format.finish(&buffer)
        _ = flush()
        return status
    }

    // MARK: Questions

    private func ask(_ target: ReachabilityTarget) -> Answer.Outcome {
        do {
            let reachability = try NetworkReachability(
                target: target,
                options: question.options,
                source: source
            )
            return .report(try reachability.report(question.explains ? .full : .brief))
        } catch {
            return .failure("\(error)")
        }
    }

    /// Answers each line in its place, a bad one too; false when the answers cannot be written any more.
    private mutating func answerStandardInput() -> Bool {
        var lines = TargetLines(descriptor: STDIN_FILENO)
        var canWrite = true
        do {
            while canWrite, let line = try lines.next(beforeReading: { canWrite = flush() }), canWrite {
                canWrite = give(answer(to: line), isComplaint: false)
            }
        } catch {
            complain("cannot read standard input: \(systemMessage(error.number))")
            status = .undetermined
        }
        return canWrite
    }

    private func answer(to line: TargetLines.Line) -> Answer {
        switch line {
        case .tooLong(let start):
            let message = "the line has more than \(TargetLines.limit) bytes: give one target a line"
            return Answer(target: start, outcome: .failure(message))
        case .target(let text):
            do {
                return Answer(target: text, outcome: ask(try CheckQuestion.target(text)))
            } catch {
                return Answer(target: text, outcome: .failure("\(error)"))
            }
        }
    }

    // MARK: Answers

    /// Writes an answer down; false when that is not possible any more.
    private mutating func give(_ answer: Answer, isComplaint: Bool) -> Bool {
        status = status.worse(answer.status)
        if isComplaint, case .failure(let message) = answer.outcome {
            complain("\(answer.target): \(message)")
        }
        format.write(answer, to: &buffer)
        return format.isFlushedAtEachAnswer || buffer.bytes.count > 32_768 ? flush() : true
    }

    private mutating func flush() -> Bool {
        let isWritten = output.deliver(&buffer)
        if !isWritten { status = .undetermined }
        return isWritten
    }
}
