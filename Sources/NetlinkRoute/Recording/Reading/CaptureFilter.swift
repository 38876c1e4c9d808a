// SPDX-License-Identifier: Apache-2.0

/// Tells the kernel's dumps and announcements in a packet capture from the rest of the traffic.
///
/// A capture holds the questions and answers of every program of the namespace: requests, acknowledgements,
/// answers to single questions, and one copy of an announcement for each socket that it reached.
struct CaptureFilter {
    /// How many questions without an answer are remembered: enough for any number of programs that ask at once.
    private static let questionLimit = 64

    private struct Question: Equatable {
        let type: UInt16
        let sequence: UInt32
    }

    private var previous: [UInt8] = []
    private var questions: [Question] = []

    /// Whether a datagram is the same as the one before: a copy for another socket.
    mutating func isCopy(_ datagram: UnsafeRawBufferPointer) -> Bool {
        if datagram.count == previous.count, datagram.elementsEqual(previous) { return true }
        previous.removeAll(keepingCapacity: true)
        previous.append(contentsOf: datagram)
        return false
    }

    /// Whether a message belongs into a recording: it is a part of a dump or an announcement.
    mutating func takes(_ header: RecordingHeader) -> Bool {
        if header.flags & RecordingFormat.isRequest != 0 {
            note(header)
            return false
        }
        guard header.type >= RecordingFormat.firstType else {
            // An acknowledgement or refusal ends the question.
            questions.removeAll { $0.sequence == header.sequence }
            return false
        }
        if header.flags & RecordingFormat.isPart != 0 { return true }
        // The answer to a single question looks like an announcement. For a route it is not even an entry of
        // the table, but the result of a lookup.
        guard
            let index = questions.firstIndex(of: Question(type: header.type &+ 2, sequence: header.sequence))
        else { return true }
        questions.remove(at: index)
        return false
    }

    /// Remembers a question that has a single answer.
    ///
    /// rtnetlink's types come in fours: NEW, DEL, GET, SET.
    private mutating func note(_ header: RecordingHeader) {
        let asksForDump = header.flags & 0x300 != 0
        guard header.type >= RecordingFormat.firstType, header.type % 4 == 2, !asksForDump else { return }
        if questions.count == Self.questionLimit { questions.removeFirst() }
        questions.append(Question(type: header.type, sequence: header.sequence))
    }
}
