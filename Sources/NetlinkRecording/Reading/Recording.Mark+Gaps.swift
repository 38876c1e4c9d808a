// SPDX-License-Identifier: Apache-2.0

// Gaps: why a part of a recording is missing. A gap begins at `start(after:statedAt:)` and ends with the next dump;
// nothing in between is known, whatever the kind.

extension Recording.Mark.Kind {
    /// The gap that an annotation states; `nil` where it states none.
    init?(_ annotation: RecordingAnnotation) {
        switch annotation {
        case .overrun: self = .overrun
        case .suspended(let milliseconds): self = .suspended(.milliseconds(Int64(clamping: milliseconds)))
        case .unwritten(let number): self = .unwritten(number)
        case .end: self = .ended
        default: return nil
        }
    }

    /// The gap of a file that is not read further.
    init(_ error: RecordingError) {
        let damage = Recording.Damage(error: error)
        self = error.isCut ? .cut(damage) : .damaged(damage)
    }

    /// Whether the recording ends here unless another file follows: the network before the gap is that of its end.
    var isEnd: Bool {
        switch self {
        case .overrun, .suspended, .unwritten, .clockSet, .clockBehind: false
        case .ended, .interrupted, .cut, .damaged: true
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
    func start(after last: Recording.Time?, statedAt stated: Recording.Time?) -> Recording.Time? {
        guard let last, let stated else { return last ?? stated }
        switch self {
        case .ended: return max(last, stated)
        case .suspended(let duration):
            // A file can state a sleep of any length.
            let slept = Int64(min(duration / .microseconds(1), 1e16))
            return max(last, Recording.Time(limiting: stated.microsecondsSince1970 - slept))
        case .overrun, .unwritten, .interrupted, .cut, .damaged, .clockSet, .clockBehind: return last
        }
    }
}
