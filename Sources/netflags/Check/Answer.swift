// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// What became of one target.
struct Answer {
    enum Outcome {
        case report(ReachabilityReport)
        /// Why the question could not be answered.
        case failure(String)
        /// Flags of which nothing else is known: they changed again before anybody could ask why.
        case passing(ReachabilityFlags)
    }

    /// Stands in for the reason of passing flags.
    static let passingReason: StaticString = "the network changed again before the reason was asked for"

    /// The target as given.
    let target: String
    let outcome: Outcome
    /// When it came about; `nil` where nobody wants to know.
    var time: Timestamp?

    /// What the answer means for the exit status.
    var status: ExitStatus {
        switch outcome {
        case .report(let report): report.isReachable ? .success : .unreachable
        case .failure: .undetermined
        case .passing(let flags): isNetworkReachable(flags: flags) ? .success : .unreachable
        }
    }
}

/// A way to write answers down.
protocol AnswerFormat {
    /// Whether each answer has to leave the process before the next question is asked.
    var isFlushedAtEachAnswer: Bool { get }

    /// Writes an answer.
    mutating func write(_ answer: Answer, to buffer: inout ByteBuffer)

    /// Writes what comes after the last answer.
    mutating func finish(_ buffer: inout ByteBuffer)
}

extension AnswerFormat {
    var isFlushedAtEachAnswer: Bool { false }

    mutating func finish(_ buffer: inout ByteBuffer) {}
}
