// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel
internal import SystemSupport

/// An error in reading or writing a recording.
package typealias RecordingError = Recording.Damage

extension Recording {
    /// The damage of a file of a recording, for example after a power cut or an incomplete copy; or a missing file.
    ///
    /// The file is read up to the damage. In a directory, the next file follows. Of several consecutive missing
    /// files, the last one is named.
    public struct Damage: Error, Hashable, Sendable {
        /// The cause of an error.
        package enum Reason: Hashable, Sendable {
            /// The file is empty.
            case empty
            /// The directory contains no file of a recorder.
            case noFiles
            /// A file of a directory is missing between others.
            case missing
            /// The file ends inside a message.
            case cut(missing: Int)
            /// The length in a header is invalid.
            case length(UInt32)
            /// The messages have the other byte order.
            case foreignByteOrder
            /// A time stamp is too short, or contains a million microseconds or more.
            case timeStamp
            /// A message is malformed.
            case malformed(type: UInt16)
            /// The file cannot be opened or read; the errno.
            case unreadable(Int32)
            /// The file cannot be created; the errno.
            case uncreatable(Int32)
            /// The file cannot be written; the errno. `isCut` if its last message is incomplete.
            case unwritable(Int32, isCut: Bool)
            /// Another recorder writes to the directory.
            case inUse
            /// The size limit of a directory is too small for the dumps and changes of this host, which need this many
            /// bytes.
            case dumpTooLarge(bytes: UInt64)
        }

        /// The path of the file as the caller gave it; empty for a file without a name.
        public let path: String
        /// The position of the faulty message or header, in bytes.
        ///
        /// For a failed write, the number of bytes of complete messages in the file.
        public let offset: UInt64
        /// The cause.
        package let reason: Reason
    }
}

extension RecordingError {
    /// Whether the file ends inside a message.
    package var isCut: Bool {
        if case .cut = reason { true } else { false }
    }

    /// Whether the file is missing, so that nothing of it was read.
    package var isMissing: Bool { reason == .missing }
}

extension RecordingError: CustomStringConvertible {
    /// The file, the position and the cause, in one line.
    public var description: String { "\(place): \(reason)" + (isForeign ? Self.known : "") }

    /// Whether nothing in the file could be read, so that it may not be a recording.
    private var isForeign: Bool {
        switch reason {
        case .length, .cut: offset == 0
        default: false
        }
    }

    private static let known = ": give a recording of netflags record or rtmon"

    /// The file, and the position if the cause is at one.
    fileprivate var place: String {
        let name = path.isEmpty ? "recording" : path
        switch reason {
        case .empty, .noFiles, .missing, .inUse, .dumpTooLarge, .unreadable, .uncreatable:
            return name
        default: return "\(name): byte \(offset)"
        }
    }
}

extension RecordingError.Reason: CustomStringConvertible {
    /// The cause in words, with advice if there is any.
    package var description: String {
        let system = number == 0 ? "" : SystemCallError.message(number)
        return [system, remark].filter { !$0.isEmpty }.joined(separator: ": ")
    }

    /// The errno, 0 for none.
    fileprivate var number: Int32 {
        switch self {
        case .unreadable(let number), .uncreatable(let number), .unwritable(let number, isCut: _): number
        default: 0
        }
    }

    /// The text that follows the words of the errno.
    fileprivate var remark: String {
        switch self {
        case .empty: "the file is empty"
        case .noFiles:
            "the directory has no recording (\(RecordingDirectory.name(1))): "
                + "write one with `netflags record DIRECTORY --keep SIZE`"
        case .missing: "the file is missing"
        case .cut(let missing): "the file ends inside a message: at least \(missing) bytes are missing"
        case .length(let length):
            "not a netlink message: a length of \(length) bytes is outside of \(RecordingFormat.lengths)"
        case .foreignByteOrder:
            "written by a machine of the other byte order: read it on a machine like the one that wrote it"
        case .timeStamp: "a malformed time stamp"
        case .malformed(let type): "a malformed message of type \(type)"
        case .unreadable, .uncreatable: ""
        case .unwritable(_, isCut: false): "the recording ends here, with a whole message"
        case .unwritable(_, isCut: true): "the message that begins here is cut"
        case .inUse: "another recorder writes into this directory: give each a directory of its own"
        case .dumpTooLarge(let bytes):
            "--keep is too small for this host: use at least \((bytes + 1_048_575) >> 20)M"
        }
    }
}

extension ReachabilityError {
    /// Creates the error of a recording that cannot be read or written.
    package init(_ error: RecordingError) {
        switch error.reason {
        case .uncreatable, .unwritable:
            // The error itself adds the words of the errno.
            self.init(
                in: .systemCall, operation: "write the recording \(error.place)", number: error.reason.number,
                message: error.reason.remark)
        case .dumpTooLarge:
            self.init(operation: "write the recording", number: EFBIG, message: error.description)
        case .inUse:
            self.init(operation: "write the recording", message: error.description)
        default:
            self.init(
                .unreadableRecording,
                operation: "read the recording",
                number: error.reason.number,
                message: error.description
            )
        }
    }
}

/// Calls a closure, and converts its error to an error of the API.
func attempt<Result: ~Copyable>(
    _ body: () throws(RecordingError) -> Result
) throws(ReachabilityError) -> Result {
    do {
        return try body()
    } catch {
        throw ReachabilityError(error)
    }
}
