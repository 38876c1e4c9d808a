// SPDX-License-Identifier: Apache-2.0

internal import NetlinkRoute

/// The format of an rtmon stream: netlink messages in host byte order, each padded to 4 bytes.
enum RecordingFormat {
    /// Bytes of `struct nlmsghdr`.
    static let headerLength = NetlinkMessage.headerLength
    /// The possible lengths of a message, with its header.
    ///
    /// The kernel sends datagrams of at most 32 KiB, and this package's sockets read 64 KiB at once. With a limit below
    /// 65,536 a file in the other byte order fails at its first header: the swapped bytes of such a length make 0 or
    /// at least 65,536.
    static let lengths: ClosedRange<UInt32> = 16...65_535

    /// The type of annotations (NLMSG_NOOP), which all readers skip.
    static let noop: UInt16 = 1
    /// The end of a dump (NLMSG_DONE), which some writers keep.
    static let done: UInt16 = 3
    /// The type of time stamps: NLMSG_TSTAMP of iproute2, which the kernel does not use.
    static let timeStamp: UInt16 = 15
    /// The lowest type that is not one of netlink's own control messages (NLMSG_MIN_TYPE).
    static let firstType: UInt16 = 0x10

    /// The flag of a message to the kernel (NLM_F_REQUEST).
    static let isRequest: UInt16 = 0x1
    /// The flag of a part of a dump (NLM_F_MULTI).
    static let isPart: UInt16 = 0x2
    /// The flag of a part of a dump during which the table changed (NLM_F_DUMP_INTR).
    static let isInterrupted: UInt16 = 0x10
    /// The flag of a part of a dump that leaves entries out, as the request asked (NLM_F_DUMP_FILTERED).
    static let isFiltered: UInt16 = 0x20
    /// The flags of a request for a dump (NLM_F_DUMP).
    static let asksForDump: UInt16 = 0x300

    /// The length with padding.
    static func padded(_ length: Int) -> Int {
        (length + 3) & ~3
    }
}

/// The fields of `struct nlmsghdr` that a recording needs.
struct RecordingHeader {
    let length: UInt32
    let type: UInt16
    let flags: UInt16
    let sequence: UInt32

    /// Reads a header at the start of at least 16 bytes.
    init(_ bytes: UnsafeRawBufferPointer) {
        length = bytes.loadUnaligned(as: UInt32.self)
        type = bytes.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
        flags = bytes.loadUnaligned(fromByteOffset: 6, as: UInt16.self)
        sequence = bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
    }

    /// Why this is not a header of a message; `nil` when it may be one.
    var error: RecordingError.Reason? {
        if RecordingFormat.lengths.contains(length) { return nil }
        // The types of rtnetlink are below 256.
        let isForeign = RecordingFormat.lengths.contains(length.byteSwapped) && type.byteSwapped < 256
        return isForeign ? .foreignByteOrder : .length(length)
    }
}

// MARK: - Packet captures

/// A packet capture of netlink, as `tcpdump -i nlmon0 -w FILE` writes it: classic pcap, link type 253.
///
/// The magic number defines the byte order of the file header (24 bytes) and of each record header (16 bytes: seconds,
/// fraction, captured and original length). After a record header come 16 bytes in network order, with the hardware
/// type of netlink (824) at byte 2 and the netlink family at byte 14, then one datagram.
struct CaptureFormat {
    /// The link type of netlink (LINKTYPE_NETLINK).
    static let linkType: UInt32 = 253
    /// Bytes of the file header.
    static let headerLength = 24
    /// Bytes of a record header.
    static let recordHeaderLength = 16
    /// Bytes of the link-layer header before the datagram.
    static let linkHeaderLength = 16
    /// The hardware type of netlink (ARPHRD_NETLINK).
    private static let hardwareType: UInt16 = 824
    /// The longest record of another netlink family: transactions of nftables are long.
    private static let longestForeignRecord: UInt32 = 1 << 24

    private let isSwapped: Bool
    private let ticksPerMicrosecond: UInt32

    /// Reads the file header, if the bytes begin with a magic number of pcap.
    init?(_ bytes: UnsafeRawBufferPointer) throws(RecordingError.Reason) {
        guard bytes.count >= 4 else { return nil }
        let magic = bytes.loadUnaligned(as: UInt32.self)
        switch (magic, magic.byteSwapped) {
        case (0x0a0d_0d0a, _): throw .nextGenerationCapture
        case (0xa1b2_c3d4, _): (isSwapped, ticksPerMicrosecond) = (false, 1)
        case (0xa1b2_3c4d, _): (isSwapped, ticksPerMicrosecond) = (false, 1_000)
        case (_, 0xa1b2_c3d4): (isSwapped, ticksPerMicrosecond) = (true, 1)
        case (_, 0xa1b2_3c4d): (isSwapped, ticksPerMicrosecond) = (true, 1_000)
        default: return nil
        }
        guard bytes.count >= Self.headerLength else { throw .cut(missing: Self.headerLength - bytes.count) }
        let stored = bytes.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
        let version = isSwapped ? stored.byteSwapped : stored
        guard version == 2 else { throw .captureVersion(version) }
        // The upper bits describe a frame check sequence, which netlink does not have.
        let type = number(bytes, at: 20) & 0xffff
        guard type == Self.linkType else { throw .captureLinkType(type) }
    }

    /// The header of a record and the link-layer header after it.
    struct Record {
        let time: Recording.Time
        /// Bytes after the record header.
        let length: Int
        /// Whether the datagram is one of NETLINK_ROUTE.
        let isRouting: Bool
    }

    /// Reads both headers from 32 bytes.
    func record(_ bytes: UnsafeRawBufferPointer) throws(RecordingError.Reason) -> Record {
        let length = number(bytes, at: 8)
        let original = number(bytes, at: 12)
        let hardwareType = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 18, as: UInt16.self))
        let family = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 30, as: UInt16.self))
        let longest = RecordingFormat.lengths.upperBound + UInt32(Self.linkHeaderLength)
        guard length >= UInt32(Self.linkHeaderLength), hardwareType == Self.hardwareType,
            length <= (family == 0 ? longest : Self.longestForeignRecord)
        else { throw .captureRecord(length: length) }
        if family == 0, length < original {
            throw .captureIsShortened(captured: length, original: original)
        }
        let microseconds = number(bytes, at: 4) / ticksPerMicrosecond
        guard microseconds < 1_000_000 else { throw .timeStamp }
        return Record(
            time: Recording.Time(seconds: number(bytes, at: 0), microseconds: microseconds),
            length: Int(length),
            isRouting: family == 0
        )
    }

    private func number(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt32 {
        let stored = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        return isSwapped ? stored.byteSwapped : stored
    }
}

extension RecordingError.Reason: Error {}

// MARK: - Filter

/// Selects the kernel's dumps and notifications in a packet capture.
///
/// A capture holds the traffic of all programs of the namespace: requests, acknowledgements, answers to single
/// requests, and one copy of a notification for each socket that received it.
struct CaptureFilter {
    /// The number of unanswered requests that are remembered.
    private static let requestLimit = 64

    private var previous: [UInt8] = []
    /// The headers of requests that have a single answer.
    private var requests: [RecordingHeader] = []

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
        let request = requests.firstIndex {
            $0.type == header.type &+ 2 && $0.sequence == header.sequence
        }
        guard let request else { return true }
        requests.remove(at: request)
        return false
    }

    /// Remembers a request that has a single answer.
    ///
    /// rtnetlink's types come in fours: NEW, DEL, GET, SET.
    private mutating func note(_ header: RecordingHeader) {
        let asksForDump = header.flags & RecordingFormat.asksForDump != 0
        guard header.type >= RecordingFormat.firstType, header.type % 4 == 2, !asksForDump else { return }
        if requests.count == Self.requestLimit { requests.removeFirst() }
        requests.append(header)
    }
}
