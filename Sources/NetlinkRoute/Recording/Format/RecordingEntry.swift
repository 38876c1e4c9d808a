// SPDX-License-Identifier: Apache-2.0

/// One entry of a recording, valid during the call that passes it.
package struct RecordingEntry {
    /// The contents of an entry.
    package enum Content {
        /// A message of the kernel.
        case message(NetlinkMessage)
        /// An annotation of the recorder.
        case annotation(RecordingAnnotation)
        /// The end of a file of a ``RecordingStream``, where more files follow or the file is cut.
        case fileEnd
    }

    /// The position of the entry in the file, in bytes.
    package let offset: UInt64
    /// The last time stamp before the entry; `nil` before the first.
    package let time: RecordingTime?
    /// The message or annotation.
    package let content: Content

    /// The fault to throw when the message is malformed.
    ///
    /// - Parameter path: The file's name.
    /// - Returns: The fault, with the position of the message.
    package func malformed(path: String) -> RecordingFault {
        guard case .message(let message) = content else {
            return RecordingFault(path: path, offset: offset, reason: .malformed(type: RecordingFormat.noop))
        }
        return RecordingFault(path: path, offset: offset, reason: .malformed(type: message.type))
    }
}

extension NetlinkMessage {
    /// Whether the message is a part of a dump and not a notification (NLM_F_MULTI).
    package var isDumped: Bool {
        flags & RecordingFormat.isPart != 0
    }
}
