// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RoutingModel

/// Why a recording cannot be read or written, and where.
package struct RecordingFault: Error, Hashable, Sendable {
    /// What is wrong.
    package enum Reason: Hashable, Sendable {
        /// There is not one byte: no recording at all, rather than one of a host without interfaces.
        case empty
        /// The file ends inside a message or record.
        case cut(missing: Int)
        /// A header tells a length that no message has.
        case length(UInt32)
        /// The messages are in the byte order of another kind of machine.
        case foreignByteOrder
        /// A time stamp is too short or counts more than a million microseconds.
        case timeStamp
        /// A whole message of this type whose attributes do not hold together.
        case malformed(type: UInt16)
        /// Several such messages; the type and the place are those of the first.
        case severalMalformed(type: UInt16, count: Int)
        /// A packet capture of another version than 2.x.
        case captureVersion(UInt16)
        /// A packet capture of something else than netlink.
        case captureLinkType(UInt32)
        /// A captured record too short, too long or without netlink's own header.
        case captureRecord(length: UInt32)
        /// The capture kept only the start of a message.
        case captureIsShortened(captured: UInt32, original: UInt32)
        /// A pcapng file.
        case nextGenerationCapture
        /// The file cannot be opened or read: errno.
        case unreadable(Int32)
        /// The file cannot be created: errno.
        case uncreatable(Int32)
        /// The file cannot be written on: errno. `isCut` when its last message could not be removed.
        case unwritable(Int32, isCut: Bool)
        /// A message too long for a recording was to be written.
        case oversized(Int)
    }

    /// The file's name as it was given; empty when there is none.
    package var path: String
    /// Where the message, record or header begins that is at fault, in bytes from the file's start.
    ///
    /// For a failed write: how many bytes of whole messages are in the file.
    package var offset: UInt64
    /// What is wrong.
    package var reason: Reason

    /// Describes a fault.
    package init(path: String, offset: UInt64, reason: Reason) {
        self.path = path
        self.offset = offset
        self.reason = reason
    }
}

extension RecordingFault: CustomStringConvertible {
    /// One line for a person: the file, the place, the reason.
    package var description: String {
        let name = path.isEmpty ? "recording" : path
        switch reason {
        case .empty, .nextGenerationCapture, .unreadable, .uncreatable: return "\(name): \(reason)"
        default: return "\(name): byte \(offset): \(reason)"
        }
    }
}

extension RecordingFault.Reason: CustomStringConvertible {
    /// The reason in plain words, with what to do where something can be done.
    package var description: String {
        switch self {
        case .empty: "the file is empty"
        case .cut(let missing): "the file ends inside a message: at least \(missing) bytes are missing"
        case .length(let length):
            "no netlink message: a length of \(length) bytes is outside of \(RecordingFormat.lengths)"
        case .foreignByteOrder:
            "written by a machine of the other byte order: read it on a machine like the one that wrote it"
        case .timeStamp: "a malformed time stamp"
        case .malformed(let type): "a malformed message of type \(type)"
        case .severalMalformed(let type, let count):
            "a malformed message of type \(type), the first of \(count)"
        case .unreadable(let number), .uncreatable(let number): String(cString: strerror(number))
        case .unwritable(let number, isCut: false):
            "\(String(cString: strerror(number))): the recording ends here, with a whole message"
        case .unwritable(let number, isCut: true):
            "\(String(cString: strerror(number))): the message that begins here is cut"
        case .oversized(let length): "a message of \(length) bytes is too long for a recording"
        default: captureDescription
        }
    }

    private var captureDescription: String {
        switch self {
        case .captureVersion(let version): "a packet capture of version \(version), not 2"
        case .captureLinkType(let type):
            "a packet capture of link type \(type), not \(CaptureFormat.linkType) (netlink)"
        case .captureRecord(let length): "no netlink record: \(length) bytes"
        case .captureIsShortened(let captured, let original):
            "only \(captured) of \(original) bytes were captured: capture again with `tcpdump -s 0 -i nlmon0`"
        case .nextGenerationCapture:
            "a pcapng file: convert it with `editcap -F pcap FILE FILE.pcap` or `tcpdump -r FILE -w FILE.pcap`"
        default: "unreadable"
        }
    }
}

extension RoutingFault {
    /// The fault in the terms of a question that could not be answered.
    package init(_ fault: RecordingFault) {
        switch fault.reason {
        case .unreadable(let number):
            self.init(operation: "read the recording \(fault.path)", number: number)
        case .uncreatable(let number), .unwritable(let number, isCut: _):
            self.init(operation: "write the recording", number: number, text: "\(fault)")
        case .oversized:
            self.init(operation: "write the recording", text: "\(fault)")
        default:
            self.init(operation: "read the recording", text: "\(fault)")
        }
    }
}
