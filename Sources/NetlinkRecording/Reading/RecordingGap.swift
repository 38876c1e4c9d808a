// SPDX-License-Identifier: Apache-2.0

/// Why a part of a recording is missing.
///
/// This is the list of all kinds. A gap begins at ``start(after:statedAt:)`` and ends with the next dump; nothing in
/// between is known, whatever the kind.
package enum RecordingGap: Hashable, Sendable {
    /// The kernel dropped notifications.
    case overrun
    /// The machine slept for this many milliseconds.
    case suspended(milliseconds: UInt64)
    /// The recorder could not write, with this errno.
    case unwritten(number: Int32)
    /// The recorder ended on request, and another one began a file.
    case ended
    /// A file does not continue the one before it, and that one does not say why.
    case interrupted
    /// A file is damaged, or ends inside a message, and is not read further.
    case damaged(RecordingFault)

    /// The gap that an annotation states; `nil` where it states none.
    init?(_ annotation: RecordingAnnotation) {
        switch annotation {
        case .overrun: self = .overrun
        case .suspended(let milliseconds): self = .suspended(milliseconds: milliseconds)
        case .unwritten(let number): self = .unwritten(number: number)
        case .end: self = .ended
        default: return nil
        }
    }

    /// Whether the recording ends here unless another file follows: the network before the gap is that of its end.
    var isEnd: Bool {
        switch self {
        case .overrun, .suspended, .unwritten: false
        case .ended, .interrupted, .damaged: true
        }
    }

    /// When the gap begins.
    ///
    /// That is the last message before it. Later times are used where they are known: the recorder was there until it
    /// ended on request, or until the machine fell asleep.
    ///
    /// - Parameters:
    ///   - last: The time of the last message before the gap; `nil` if none has a time.
    ///   - stated: The time of the statement, which the recorder can have made long after the begin of the gap.
    /// - Returns: The time; `nil` where neither is known.
    func start(after last: RecordingTime?, statedAt stated: RecordingTime?) -> RecordingTime? {
        guard let last, let stated else { return last ?? stated }
        switch self {
        case .ended: return max(last, stated)
        case .suspended(let milliseconds):
            let slept = Int64(clamping: milliseconds.multipliedReportingOverflow(by: 1_000).partialValue)
            return max(
                last,
                RecordingTime(microsecondsSince1970: stated.microsecondsSince1970 - min(slept, .max / 2)))
        case .overrun, .unwritten, .interrupted, .damaged: return last
        }
    }
}
