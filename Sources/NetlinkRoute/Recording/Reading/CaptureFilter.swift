// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim

/// Selects the kernel's dumps and notifications in a packet capture.
///
/// A capture holds the traffic of all programs of the namespace: requests, acknowledgements, answers to single
/// requests, and one copy of a notification for each socket that received it.
struct CaptureFilter {
    /// The number of unanswered requests that are remembered.
    private static let requestLimit = 64

    private struct Request: Equatable {
        let type: UInt16
        let sequence: UInt32
    }

    private var previous: [UInt8] = []
    private var requests: [Request] = []

    /// Whether a datagram equals the previous one: a copy for another socket.
    mutating func isCopy(_ datagram: UnsafeRawBufferPointer) -> Bool {
        if datagram.count == previous.count, datagram.elementsEqual(previous) { return true }
        previous.removeAll(keepingCapacity: true)
        previous.append(contentsOf: datagram)
        return false
    }

    /// Whether a message is a part of a dump or a notification.
    mutating func takes(_ header: RecordingHeader) -> Bool {
        if header.flags & RecordingFormat.isRequest != 0 {
            note(header)
            return false
        }
        guard header.type >= RecordingFormat.firstType else {
            // An acknowledgement or an error ends the request.
            requests.removeAll { $0.sequence == header.sequence }
            return false
        }
        if header.flags & RecordingFormat.isPart != 0 { return true }
        // The answer to a single request looks like a notification, but that of a route is the result of a lookup, not
        // an entry of the table.
        guard
            let index = requests.firstIndex(of: Request(type: header.type &+ 2, sequence: header.sequence))
        else { return true }
        requests.remove(at: index)
        return false
    }

    /// Remembers a request that has a single answer.
    ///
    /// rtnetlink's types come in fours: NEW, DEL, GET, SET.
    private mutating func note(_ header: RecordingHeader) {
        let asksForDump = Int32(header.flags) & NLM_F_DUMP != 0
        guard header.type >= RecordingFormat.firstType, header.type % 4 == 2, !asksForDump else { return }
        if requests.count == Self.requestLimit { requests.removeFirst() }
        requests.append(Request(type: header.type, sequence: header.sequence))
    }
}
