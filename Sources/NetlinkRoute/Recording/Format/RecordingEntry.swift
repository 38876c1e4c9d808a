// SPDX-License-Identifier: Apache-2.0

/// One thing out of a recording, lent for the duration of a call.
package struct RecordingEntry {
    /// What it is.
    package enum Content {
        /// A message of the kernel.
        case message(NetlinkMessage)
        /// A remark of the recorder.
        case annotation(RecordingAnnotation)
    }

    /// Where it begins, in bytes from the file's start.
    package let offset: UInt64
    /// The time stamp that came last before it; `nil` before the first.
    package let time: RecordingTime?
    /// What it is.
    package let content: Content

    /// The fault to throw when a message turns out not to hold together.
    ///
    /// - Parameter path: The file's name.
    /// - Returns: The fault, with the place of the message.
    package func malformed(path: String) -> RecordingFault {
        guard case .message(let message) = content else {
            return RecordingFault(path: path, offset: offset, reason: .malformed(type: RecordingFormat.noop))
        }
        return RecordingFault(path: path, offset: offset, reason: .malformed(type: message.type))
    }
}

extension NetlinkMessage {
    /// Whether it is a part of a dump, and not an announcement (NLM_F_MULTI).
    package var isDumped: Bool {
        flags & RecordingFormat.isPart != 0
    }
}
