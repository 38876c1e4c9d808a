// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

/// The format of an rtmon stream: netlink messages in host byte order, each padded to 4 bytes.
enum RecordingFormat {
    /// The size of `struct nlmsghdr`, in bytes.
    static let headerLength = NetlinkMessage.headerLength
    /// The valid lengths of a message, including its header.
    ///
    /// The kernel sends datagrams of at most 32 KiB, and this package's sockets read 64 KiB at once. With a limit
    /// below 65,536, a file in the other byte order fails at its first header: the swapped bytes of such a length are
    /// 0 or at least 65,536.
    static let lengths: ClosedRange<UInt32> = 16...65_535

    /// The type of annotations (NLMSG_NOOP), which all readers skip.
    static let noop: UInt16 = 1
    /// The end of a dump (NLMSG_DONE), which some writers include.
    static let done: UInt16 = 3
    /// The type of time stamps: NLMSG_TSTAMP of iproute2, which the kernel does not use.
    static let timeStamp: UInt16 = 15

    /// The flag of a message that is part of a dump (NLM_F_MULTI).
    static let isPart: UInt16 = 0x2
    /// The flag of a message in a dump during which the table changed (NLM_F_DUMP_INTR).
    static let isInterrupted: UInt16 = 0x10
    /// The flag of a message in a dump that omits entries as requested (NLM_F_DUMP_FILTERED).
    static let isFiltered: UInt16 = 0x20

    /// The length including padding.
    static func padded(_ length: Int) -> Int {
        (length + 3) & ~3
    }
}

/// The fields of `struct nlmsghdr` that a recording needs.
struct RecordingHeader {
    let length: UInt32
    let type: UInt16

    /// Reads a header at the start of at least 16 bytes.
    init(_ bytes: UnsafeRawBufferPointer) {
        length = bytes.loadUnaligned(as: UInt32.self)
        type = bytes.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
    }

    /// Why this is not a message header; `nil` if it may be one.
    var error: RecordingError.Reason? {
        if RecordingFormat.lengths.contains(length) { return nil }
        // The message types of rtnetlink are below 256.
        let isForeign = RecordingFormat.lengths.contains(length.byteSwapped) && type.byteSwapped < 256
        return isForeign ? .foreignByteOrder : .length(length)
    }
}
